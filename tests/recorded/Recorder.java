import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.errors.StreamsException;
import org.apache.kafka.streams.kstream.Aggregator;
import org.apache.kafka.streams.kstream.CogroupedKStream;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Initializer;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Merger;
import org.apache.kafka.streams.kstream.Reducer;
import org.apache.kafka.streams.kstream.SessionWindowedKStream;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.SlidingWindows;
import org.apache.kafka.streams.kstream.TimeWindowedKStream;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.WindowStore;

/** Feeds the scenarios of a file to Kafka Streams and prints each with what Kafka answered; see README.md. */
public final class Recorder {
    private static final ObjectMapper JSON = new ObjectMapper();

    private enum StoreType { rocksdb, memory }

    private final JsonNode spec;
    private final StoreType store;
    private final boolean sessions;
    private final List<ArrayNode> out = new ArrayList<>();

    private Recorder(JsonNode spec, StoreType store) {
        this.spec = spec;
        this.store = store;
        this.sessions = spec.get("kind").asText().startsWith("session");
    }

    /** Arguments: `rocksdb` or `memory`, the kind of store, then the files. */
    public static void main(String[] arguments) throws IOException {
        StoreType store = StoreType.valueOf(arguments[0]);
        int runs = 0;
        int same = 0;
        for (String file : Arrays.asList(arguments).subList(1, arguments.length)) {
            for (String line : Files.readAllLines(Path.of(file))) {
                JsonNode scenario = JSON.readTree(line);
                runs++;
                try {
                    ObjectNode recorded = record(scenario, store);
                    System.out.println(JSON.writeValueAsString(recorded));
                    same += answers(recorded).equals(answers(scenario)) ? 1 : 0;
                } catch (StreamsException failed) {
                    System.err.println(scenario.get("spec") + ": Kafka fails: " + failed.getCause());
                }
            }
        }
        System.err.println(same + " of " + runs + " runs as they are in the files");
    }

    /** What Kafka answered to each step: `kafka` where it differs from the right answer, else the step itself. */
    private static String answers(JsonNode scenario) {
        StringBuilder answers = new StringBuilder();
        for (JsonNode step : scenario.get("steps")) {
            JsonNode kafka = step.has("kafka") ? step.get("kafka") : step;
            answers.append(kafka.path("out")).append(kafka.path("dropped"));
        }
        return answers.toString();
    }

    /** The scenario again, each step with `out` and `dropped` as Kafka gave them. */
    private static ObjectNode record(JsonNode scenario, StoreType store) throws IOException {
        Recorder recorder = new Recorder(scenario.get("spec"), store);
        StreamsBuilder builder = new StreamsBuilder();
        recorder.collect(recorder.aggregated(builder));
        Path state = Files.createTempDirectory("recorder");
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "recorder");
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "none:1");
        settings.put(StreamsConfig.STATE_DIR_CONFIG, state.toString());
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.InternalConfig.EMIT_INTERVAL_MS_KSTREAMS_WINDOWED_AGGREGATION, 0L);
        ObjectNode recorded = JSON.createObjectNode();
        recorded.set("spec", recorder.spec);
        ArrayNode steps = recorded.putArray("steps");
        try (TopologyTestDriver driver = new TopologyTestDriver(builder.build(), settings)) {
            Map<String, TestInputTopic<String, String>> inputs = new LinkedHashMap<>();
            for (String name : recorder.inputs()) {
                inputs.put(name, driver.createInputTopic(name, new StringSerializer(), new StringSerializer()));
            }
            for (JsonNode step : scenario.get("steps")) {
                JsonNode in = step.get("in");
                String input = in.has(3) ? in.get(3).asText() : "in";
                inputs.get(input).pipeInput(text(in.get(0)), text(in.get(1)), in.get(2).asLong());
                ObjectNode answer = steps.addObject();
                answer.set("in", in);
                answer.putArray("out").addAll(recorder.out);
                answer.put("dropped", dropped(driver));
                recorder.out.clear();
            }
        } finally {
            try (var files = Files.walk(state)) {
                files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
            }
        }
        return recorded;
    }

    private List<String> inputs() {
        return spec.get("kind").asText().endsWith("cogroup") ? List.of("in", "in2") : List.of("in");
    }

    private static String text(JsonNode value) {
        return value.isNull() ? null : value.asText();
    }

    private static long dropped(TopologyTestDriver driver) {
        return driver.metrics().entrySet().stream()
            .filter(metric -> metric.getKey().name().equals("dropped-records-total"))
            .filter(metric -> metric.getKey().group().equals("stream-task-metrics"))
            .mapToLong(metric -> ((Number) metric.getValue().metricValue()).longValue()).sum();
    }

    private <V> void collect(KTable<Windowed<String>, V> table) {
        table.toStream().process(this::<V>collector);
    }

    private <V> Processor<Windowed<String>, V, Void, Void> collector() {
        return new ContextualProcessor<>() {
            @Override
            public void process(Record<Windowed<String>, V> change) {
                ArrayNode row = JSON.createArrayNode().add(change.key().key());
                row.add(change.key().window().start()).add(change.key().window().end());
                out.add(row.add(change.value() == null ? null : change.value().toString()).add(change.timestamp()));
            }
        };
    }

    // What is aggregated, and how: spec.agg

    private final Initializer<String> init = () -> "0";
    private final Merger<String, String> merge = (key, a, b) -> "(" + a + "|" + b + ")";
    private final Reducer<String> reduce = (agg, value) -> agg + "+" + value;

    private Aggregator<String, String, String> add(String sign) {
        boolean nullable = aggregate().equals("nullable");
        return (key, value, agg) -> nullable && "DEL".equals(value) ? null : agg + sign + value;
    }

    private String aggregate() {
        return spec.has("agg") ? spec.get("agg").asText() : "default";
    }

    private Duration span(String field) {
        return Duration.ofMillis(spec.get(field).asLong());
    }

    private KTable<Windowed<String>, ?> aggregated(StreamsBuilder builder) {
        Consumed<String, String> strings = Consumed.with(Serdes.String(), Serdes.String());
        List<KGroupedStream<String, String>> grouped = new ArrayList<>();
        for (String name : inputs()) {
            grouped.add(builder.stream(name, strings).groupByKey(Grouped.with(Serdes.String(), Serdes.String())));
        }
        EmitStrategy emit = spec.path("emit").asText().equals("close")
            ? EmitStrategy.onWindowClose() : EmitStrategy.onWindowUpdate();
        if (grouped.size() == 2) {
            CogroupedKStream<String, String> both = grouped.get(0).cogroup(add("+")).cogroup(grouped.get(1), add("-"));
            return sessions
                ? both.windowedBy(sessionWindows()).aggregate(init, merge, sessionStore(Serdes.String()))
                : both.windowedBy(slidingWindows()).aggregate(init, windowStore(Serdes.String()));
        }
        if (sessions) {
            SessionWindowedKStream<String, String> windowed =
                grouped.get(0).windowedBy(sessionWindows()).emitStrategy(emit);
            return switch (aggregate()) {
                case "count" -> windowed.count(sessionStore(Serdes.Long()));
                case "reduce" -> windowed.reduce(reduce, sessionStore(Serdes.String()));
                default -> windowed.aggregate(init, add("+"), merge, sessionStore(Serdes.String()));
            };
        }
        TimeWindowedKStream<String, String> windowed = grouped.get(0).windowedBy(slidingWindows()).emitStrategy(emit);
        return switch (aggregate()) {
            case "count" -> windowed.count(windowStore(Serdes.Long()));
            case "reduce" -> windowed.reduce(reduce, windowStore(Serdes.String()));
            default -> windowed.aggregate(init, add("+"), windowStore(Serdes.String()));
        };
    }

    private SessionWindows sessionWindows() {
        return SessionWindows.ofInactivityGapAndGrace(span("gap"), span("grace"));
    }

    private SlidingWindows slidingWindows() {
        return SlidingWindows.ofTimeDifferenceAndGrace(span("diff"), span("grace"));
    }

    private <V> Materialized<String, V, SessionStore<Bytes, byte[]>> sessionStore(Serde<V> values) {
        return kept(Materialized.<String, V, SessionStore<Bytes, byte[]>>with(Serdes.String(), values));
    }

    private <V> Materialized<String, V, WindowStore<Bytes, byte[]>> windowStore(Serde<V> values) {
        return kept(Materialized.<String, V, WindowStore<Bytes, byte[]>>with(Serdes.String(), values));
    }

    private <M extends Materialized<?, ?, ?>> M kept(M materialized) {
        materialized.withCachingDisabled();
        materialized.withStoreType(
            store == StoreType.memory ? BuiltInDslStoreSuppliers.IN_MEMORY : BuiltInDslStoreSuppliers.ROCKS_DB);
        if (spec.has("retention")) {
            materialized.withRetention(span("retention"));
        }
        return materialized;
    }
}
