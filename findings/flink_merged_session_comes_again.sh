#!/usr/bin/env bash
# Flink: when a late record joins two sessions that have been emitted, the merged one comes too, and
# nothing takes the two back.
#
# One would guess that the result has each record once, or that something says that the two older rows
# are void. The sum of the counts is 5 for 3 records. A sink that is keyed by the window keeps all
# three.
#
# Flink 2.3.0, DataStream API with allowedLateness, 2026-11-28.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/pom.xml" <<'POM'
<project>
  <modelVersion>4.0.0</modelVersion><groupId>finding</groupId><artifactId>finding</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.flink</groupId><artifactId>flink-streaming-java</artifactId><version>2.3.0</version></dependency>
    <dependency><groupId>org.apache.flink</groupId><artifactId>flink-clients</artifactId><version>2.3.0</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-nop</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
POM
mvn --quiet --file "$folder/pom.xml" dependency:copy-dependencies -DoutputDirectory="$folder/libs"
cat >"$folder/Finding.java" <<'JAVA'
import java.time.Duration;
import java.util.*;
import org.apache.flink.api.common.eventtime.*;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.windowing.WindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

public class Finding {
    /** Each record is a time; 1012 means the watermark 12. */
    static class Watermarks implements WatermarkGenerator<Long> {
        public void onEvent(Long record, long time, WatermarkOutput output) {
            if (record > 1000) output.emitWatermark(new Watermark(record - 1000));
        }

        public void onPeriodicEmit(WatermarkOutput output) {}
    }

    static class Count implements WindowFunction<Long, String, String, TimeWindow> {
        public void apply(String key, TimeWindow window, Iterable<Long> records, Collector<String> out) {
            int count = 0;
            for (Long record : records) count++;
            out.collect("[" + window.getStart() + "," + window.getEnd() + ")=" + count);
        }
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("flink " + EnvironmentInformation.getVersion() + ", gap 5: records 0 and 8, watermark 12, record 4");
        StreamExecutionEnvironment flink = StreamExecutionEnvironment.createLocalEnvironment(1);
        WatermarkStrategy<Long> times = WatermarkStrategy.<Long>forGenerator(context -> new Watermarks())
            .withTimestampAssigner((record, before) -> record);
        flink.fromData(0L, 8L, 1012L, 4L).assignTimestampsAndWatermarks(times).filter(record -> record < 1000)
            .keyBy(record -> "a").window(EventTimeSessionWindows.withGap(Duration.ofMillis(5)))
            .allowedLateness(Duration.ofMillis(100)).apply(new Count())
            .executeAndCollect().forEachRemaining(System.out::println);
    }
}
JAVA
javac -nowarn -Xlint:none -cp "$folder/libs/*" -d "$folder" "$folder/Finding.java"
java --add-opens java.base/java.util=ALL-UNNAMED --add-opens java.base/java.lang=ALL-UNNAMED -Djava.io.tmpdir="$folder" -cp "$folder:$folder/libs/*" Finding | tee "$folder/output"
diff "$folder/output" - <<'EXPECTED'
flink 2.3.0, gap 5: records 0 and 8, watermark 12, record 4
[0,5)=1
[8,13)=1
[0,13)=3
EXPECTED
