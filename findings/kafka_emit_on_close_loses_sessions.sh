#!/usr/bin/env bash
# Kafka Streams: with the default retention, emit on close loses sessions when stream time jumps.
#
# One would guess that each session comes out once, when stream time has passed its end by gap and
# grace. It does if the next record comes soon after that. After a longer pause the store has already
# deleted the session, and nothing comes out. With a longer retention all come. Here each key clicks
# every 20 minutes, with a gap of 5 minutes and a grace of 1 minute. The test driver checks for closed
# windows at each record; the default is once a second.
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
        String[] clicks = {"a@1700000000000", "b@1700001200000", "c@1700002400000", "d@1700003600000"};
        var windows = SessionWindows.ofInactivityGapAndGrace(Duration.ofMinutes(5), Duration.ofMinutes(1));
        run("default retention", s -> s.windowedBy(windows).emitStrategy(EmitStrategy.onWindowClose()).count(), clicks);
        Materialized<String, Long, SessionStore<Bytes, byte[]>> day =
            Materialized.<String, Long, SessionStore<Bytes, byte[]>>as("store").withRetention(Duration.ofDays(1));
        run("a day of retention", s -> s.windowedBy(windows).emitStrategy(EmitStrategy.onWindowClose()).count(day), clicks);
    }
}
JAVA
javac -nowarn -Xlint:none -cp "$folder/libs/*" -d "$folder" "$folder/Finding.java"
java -Djava.io.tmpdir="$folder" -cp "$folder:$folder/libs/*" Finding | tee "$folder/output"
diff "$folder/output" - <<'EXPECTED'
kafka-streams 4.4.0
default retention
  a@1700000000000 -> nothing
  b@1700001200000 -> nothing
  c@1700002400000 -> nothing
  d@1700003600000 -> nothing
a day of retention
  a@1700000000000 -> nothing
  b@1700001200000 -> a[1700000000000,1700000000000]=1
  c@1700002400000 -> b[1700001200000,1700001200000]=1
  d@1700003600000 -> c[1700002400000,1700002400000]=1
EXPECTED
