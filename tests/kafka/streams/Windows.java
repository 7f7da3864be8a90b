import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.SlidingWindows;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.WindowedSerdes;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.WindowStore;

/**
 * Counts the records of a topic in sessions, in sliding windows, or in both, and writes what is final to a topic each.
 * It ends when so many records are done, and prints what it dropped and how long it took; see README.md.
 */
public final class Windows {
    private static final Serde<String> STRING = Serdes.String();

    private final Map<String, String> options;
    private final long records;
    private final AtomicLong done = new AtomicLong();
    private final AtomicLong begin = new AtomicLong();
    private final AtomicLong end = new AtomicLong();
    private final CountDownLatch ended = new CountDownLatch(1);

    private Windows(Map<String, String> options) {
        this.options = options;
        this.records = Long.parseLong(options.get("records"));
    }

    /**
     * Arguments name=value: `bootstrap`, `application`, `state` (a folder), `threads`, `input`, `records` and `grace`;
     * with `sessions`, a topic, `gap` and `session_retention`; with `sliding`, a topic, `difference` and
     * `sliding_retention`. Times are milliseconds.
     */
    public static void main(String[] arguments) throws InterruptedException {
        Map<String, String> options = Arrays.stream(arguments)
            .map(argument -> argument.split("=", 2)).collect(Collectors.toMap(pair -> pair[0], pair -> pair[1]));
        System.exit(new Windows(options).run() ? 0 : 1);
    }

    private boolean run() throws InterruptedException {
        try (KafkaStreams streams = new KafkaStreams(topology(), settings())) {
            streams.setUncaughtExceptionHandler(failure -> {
                failure.printStackTrace();
                ended.countDown();
                return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
            });
            streams.start();
            ended.await();
            if (done.get() < records) {
                return false;
            }
            System.out.printf("records=%d dropped=%d milliseconds=%d%n", done.get(), dropped(streams),
                TimeUnit.NANOSECONDS.toMillis(end.get() - begin.get()));
            return streams.close(Duration.ofMinutes(1)); // all that it wrote is then in the topics
        }
    }

    private Topology topology() {
        StreamsBuilder builder = new StreamsBuilder();
        KStream<String, String> input = builder.stream(options.get("input"), Consumed.with(STRING, STRING));
        KGroupedStream<String, String> grouped =
            input.peek((key, value) -> begin.compareAndSet(0, System.nanoTime()))
                .groupByKey(Grouped.with(STRING, STRING));
        if (options.containsKey("sessions")) {
            SessionWindows windows = SessionWindows.ofInactivityGapAndGrace(span("gap"), span("grace"));
            Materialized<String, Long, SessionStore<Bytes, byte[]>> store = Materialized.with(STRING, Serdes.Long());
            finals(grouped.windowedBy(windows).emitStrategy(EmitStrategy.onWindowClose())
                .count(store.withRetention(span("session_retention"))).toStream(),
                new WindowedSerdes.SessionWindowedSerde<>(STRING), options.get("sessions"));
        }
        if (options.containsKey("sliding")) {
            SlidingWindows windows = SlidingWindows.ofTimeDifferenceAndGrace(span("difference"), span("grace"));
            Materialized<String, Long, WindowStore<Bytes, byte[]>> store = Materialized.with(STRING, Serdes.Long());
            finals(grouped.windowedBy(windows).emitStrategy(EmitStrategy.onWindowClose())
                .count(store.withRetention(span("sliding_retention"))).toStream(),
                new WindowedSerdes.TimeWindowedSerde<>(STRING, windows.timeDifferenceMs()), options.get("sliding"));
        }
        // The last child of the input: a record comes here when the windows are done with it.
        input.foreach((key, value) -> {
            if (done.incrementAndGet() == records) {
                end.set(System.nanoTime());
                ended.countDown();
            }
        });
        return builder.build();
    }

    private static void finals(
        KStream<Windowed<String>, Long> windows, Serde<Windowed<String>> keys, String topic) {
        windows.to(topic, Produced.with(keys, Serdes.Long()));
    }

    private Properties settings() {
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, options.get("application"));
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, options.get("bootstrap"));
        settings.put(StreamsConfig.STATE_DIR_CONFIG, options.get("state"));
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, options.get("threads"));
        settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        // Without this, finals come once a second of the wall clock, and which ones come at all depends on it.
        settings.put(StreamsConfig.InternalConfig.EMIT_INTERVAL_MS_KSTREAMS_WINDOWED_AGGREGATION, 0L);
        return settings;
    }

    private Duration span(String name) {
        return Duration.ofMillis(Long.parseLong(options.get(name)));
    }

    private static long dropped(KafkaStreams streams) {
        return streams.metrics().entrySet().stream()
            .filter(metric -> metric.getKey().name().equals("dropped-records-total"))
            .filter(metric -> metric.getKey().group().equals("stream-task-metrics"))
            .mapToLong(metric -> ((Number) metric.getValue().metricValue()).longValue()).sum();
    }
}
