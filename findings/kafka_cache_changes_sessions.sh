#!/usr/bin/env bash
# Kafka Streams: turning off the cache of a store changes the sessions, not only how many updates
# come.
#
# One would guess that both topologies end with the same sessions. a@5 is exactly the gap after a@0
# and not late, so it joins. Without the cache, b@5 has moved the time of the store, whose default
# retention now hides a@0, and a@5 begins a new session.
#
# Kafka Streams 4.4.0 (4.3.1 the same), 2026-11-28.
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
        var windows = SessionWindows.ofInactivityGapWithNoGrace(Duration.ofMillis(5));
        run("with the cache", s -> s.windowedBy(windows).count(), "a@0", "b@5", "a@5");
        Materialized<String, Long, SessionStore<Bytes, byte[]>> uncached =
            Materialized.<String, Long, SessionStore<Bytes, byte[]>>as("store").withCachingDisabled();
        run("without the cache", s -> s.windowedBy(windows).count(uncached), "a@0", "b@5", "a@5");
    }
}
JAVA
javac -nowarn -Xlint:none -cp "$folder/libs/*" -d "$folder" "$folder/Finding.java"
java -Djava.io.tmpdir="$folder" -cp "$folder:$folder/libs/*" Finding | tee "$folder/output"
diff "$folder/output" - <<'EXPECTED'
kafka-streams 4.4.0
with the cache
  a@0 -> a[0,0]=1
  b@5 -> b[5,5]=1
  a@5 -> a[0,5]=2
without the cache
  a@0 -> a[0,0]=1
  b@5 -> b[5,5]=1
  a@5 -> a[5,5]=1
EXPECTED
