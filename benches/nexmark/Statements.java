import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/**
 * Runs statements of Flink SQL in a cluster within this process, until its input ends.
 *
 * <p>Arguments: a file of Flink's settings, and a file for rows. The input has statements, each with an
 * empty line after it; each gets a line of output. An INSERT runs to the end of its source: the line has
 * the milliseconds of the job, and the processor time of this process meanwhile. A SELECT writes its rows
 * to the file, with tabs.
 */
public final class Statements {
  private Statements() {}

  public static void main(String[] arguments) throws Exception {
    PrintStream told = System.out;
    System.setOut(System.err); // what Flink logs
    Properties given = new Properties();
    try (var reader = Files.newBufferedReader(Path.of(arguments[0]))) {
      given.load(reader);
    }
    Configuration settings = new Configuration();
    given.stringPropertyNames().forEach(name -> settings.setString(name, given.getProperty(name)));
    TableEnvironment tables =
        TableEnvironment.create(
            EnvironmentSettings.newInstance().inStreamingMode().withConfiguration(settings).build());
    var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    StringBuilder statement = new StringBuilder();
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      if (!line.isBlank()) {
        statement.append(line).append('\n');
        continue;
      }
      told.println(run(tables, statement.toString(), Path.of(arguments[1])));
      told.flush();
      statement.setLength(0);
    }
    System.exit(0);
  }

  private static String run(TableEnvironment tables, String statement, Path answer) throws Exception {
    if (statement.startsWith("SELECT")) {
      return select(tables, statement, answer);
    }
    long before = processorTime();
    TableResult result = tables.executeSql(statement);
    if (!statement.startsWith("INSERT")) {
      return "done";
    }
    result.await();
    long processor = (processorTime() - before) / 1_000_000;
    long job = result.getJobClient().orElseThrow().getJobExecutionResult().get().getNetRuntime();
    return "job=%d processor=%d".formatted(job, processor);
  }

  private static String select(TableEnvironment tables, String statement, Path answer) throws Exception {
    long count = 0;
    try (CloseableIterator<Row> rows = tables.executeSql(statement).collect();
        PrintWriter out = new PrintWriter(Files.newBufferedWriter(answer))) {
      for (; rows.hasNext(); count++) {
        Row row = rows.next();
        var fields = IntStream.range(0, row.getArity()).mapToObj(field -> String.valueOf(row.getField(field)));
        out.println(fields.collect(Collectors.joining("\t")));
      }
    }
    return "rows=" + count;
  }

  /** Nanoseconds of all threads of this process. */
  private static long processorTime() {
    var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    return system.getProcessCpuTime();
  }
}
