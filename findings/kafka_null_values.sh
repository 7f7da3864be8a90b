#!/usr/bin/env bash
# Kafka Streams: a record with a key and no value counts in a session, but not in a sliding window.
#
# One would guess that count() of both windows treats the record alike. The sliding window leaves it
# out; the session counts it, and grows by it.
#
# Kafka Streams 4.4.0, 2026-11-28.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/pom.xml" <<'POM'
<project>
  <modelVersion>4.0.0</modelVersion><groupId>finding</groupId><artifactId>finding</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-streams-test-utils</artifactId><version>4.4.0</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-nop</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
POM
mvn --quiet --file "$folder/pom.xml" dependency:copy-dependencies -DoutputDirectory="$folder/libs"
cat >"$folder/Finding.java" <<'JAVA'
import java.time.Duration;
import java.util.*;
import java.util.function.Function;
import org.apache.kafka.common.serialization.*;
import org.apache.kafka.common.utils.*;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.state.*;

public class Finding {
    static void run(String what, Function<KGroupedStream<String, String>, KTable<Windowed<String>, Long>> windows, String... records) {
        StreamsBuilder builder = new StreamsBuilder();
        Serde<String> text = Serdes.String();
        windows.apply(builder.stream("in", Consumed.with(text, text)).groupByKey()).toStream()
            .map((w, n) -> KeyValue.pair(w.key() + "[" + w.window().start() + "," + w.window().end() + "]", "" + n))
            .to("out", Produced.with(text, text));
        Properties settings = new Properties();
        settings.put("application.id", "finding-" + System.nanoTime());
        settings.put("bootstrap.servers", "none:1");
        settings.put("state.dir", System.getProperty("java.io.tmpdir"));
        settings.put("default.key.serde", Serdes.StringSerde.class);
        settings.put("default.value.serde", Serdes.StringSerde.class);
        settings.put("__emit.interval.ms.kstreams.windowed.aggregation__", 0);
        System.out.println(what);
        try (TopologyTestDriver driver = new TopologyTestDriver(builder.build(), settings)) {
            var in = driver.createInputTopic("in", new StringSerializer(), new StringSerializer());
            var out = driver.createOutputTopic("out", new StringDeserializer(), new StringDeserializer());
            for (String record : records) {
                String[] part = record.split("@");
                in.pipeInput(part[0].substring(0, 1), part[0].endsWith("null") ? null : "v", Long.parseLong(part[1]));
                StringJoiner rows = new StringJoiner(" ");
                out.readKeyValuesToList().forEach(row -> rows.add(row.key + "=" + row.value));
                System.out.println("  " + record + " -> " + (rows.length() == 0 ? "nothing" : rows));
            }
        }
    }

    public static void main(String[] arguments) {
        System.out.println("kafka-streams " + KafkaStreams.class.getProtectionDomain().getCodeSource().getLocation().getPath().replaceAll(".*/kafka-streams-|.jar", ""));
        run("session, gap 10", s -> s.windowedBy(
            SessionWindows.ofInactivityGapAndGrace(Duration.ofMillis(10), Duration.ofMillis(99))).count(), "a@20", "a:null@25");
        run("sliding, difference 10", s -> s.windowedBy(
            SlidingWindows.ofTimeDifferenceAndGrace(Duration.ofMillis(10), Duration.ofMillis(99))).count(), "a@20", "a:null@25");
    }
}
JAVA
javac -nowarn -Xlint:none -cp "$folder/libs/*" -d "$folder" "$folder/Finding.java"
java -Djava.io.tmpdir="$folder" -cp "$folder:$folder/libs/*" Finding | tee "$folder/output"
diff "$folder/output" - <<'EXPECTED'
kafka-streams 4.4.0
session, gap 10
  a@20 -> a[20,20]=1
  a:null@25 -> a[20,20]=null a[20,25]=2
sliding, difference 10
  a@20 -> a[10,20]=1
  a:null@25 -> nothing
EXPECTED
