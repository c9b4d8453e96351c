import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpServer;
import io.confluent.parallelconsumer.ParallelConsumerOptions;
import io.confluent.parallelconsumer.ParallelConsumerOptions.CommitMode;
import io.confluent.parallelconsumer.ParallelConsumerOptions.ProcessingOrder;
import io.confluent.parallelconsumer.ParallelStreamProcessor;
import io.confluent.parallelconsumer.PollContext;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * The bridge's work as a user of Confluent's Parallel Consumer would write it: ordered by key, with `calls` threads and up
 * to a hundred lists a call. A 4xx answer rejects all messages of its call; the program repeats any other failed call.
 * If `outcomes` is a topic, each message has its outcome there before its offset counts as done.
 *
 * Usage: ParallelConsumer <options, as JSON>: brokers, input, outcomes (or null), groupId, serviceUrl, kind (`reasons`
 * or `lists`), calls, port (of GET /done: how many messages are done)
 */
public class ParallelConsumer {
  /** The most lists in a call, as of the bridge. */
  private static final int LISTS_A_CALL = 100;

  private static final ObjectMapper JSON = new ObjectMapper();
  private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final AtomicLong done = new AtomicLong();
  private final JsonNode options;
  private final boolean isOfLists;

  private record Outcome(String kind, ConsumerRecord<String, byte[]> of) {}

  public static void main(String[] args) throws Exception {
    new ParallelConsumer(JSON.readTree(args[0])).run();
  }

  private ParallelConsumer(JsonNode options) {
    this.options = options;
    this.isOfLists = text("kind").equals("lists");
  }

  private void run() throws Exception {
    var processor = ParallelStreamProcessor.createEosStreamProcessor(processorOptions());
    processor.subscribe(List.of(text("input")));
    if (options.path("outcomes").isNull()) processor.poll(this::call);
    else processor.pollAndProduceMany(polled -> outcomesOf(call(polled)));
    // leaves the group at once, not when its session times out
    Runtime.getRuntime().addShutdownHook(new Thread(processor::closeDontDrainFirst));
    var server = HttpServer.create(new InetSocketAddress("127.0.0.1", options.path("port").asInt()), 0);
    server.createContext("/done", exchange -> {
      byte[] body = Long.toString(done.get()).getBytes(StandardCharsets.US_ASCII);
      exchange.sendResponseHeaders(200, body.length);
      exchange.getResponseBody().write(body);
      exchange.close();
    });
    server.start();
  }

  private ParallelConsumerOptions<String, byte[]> processorOptions() {
    var consumer = new KafkaConsumer<>(
        Map.of(
            "bootstrap.servers", text("brokers"),
            "group.id", text("groupId"),
            "auto.offset.reset", "earliest",
            "enable.auto.commit", false),
        new StringDeserializer(),
        new ByteArrayDeserializer());
    var built = ParallelConsumerOptions.<String, byte[]>builder()
        .consumer(consumer)
        .ordering(ProcessingOrder.KEY)
        .commitMode(CommitMode.PERIODIC_CONSUMER_ASYNCHRONOUS)
        .maxConcurrency(options.path("calls").asInt())
        .batchSize(isOfLists ? LISTS_A_CALL : 1);
    if (options.path("outcomes").isNull()) return built.build();
    var producer = new KafkaProducer<>(
        Map.<String, Object>of("bootstrap.servers", text("brokers"), "acks", "all", "linger.ms", 5),
        new StringSerializer(),
        new ByteArraySerializer());
    return built.producer(producer).build();
  }

  /** Makes one call for all messages that are handed over together. */
  private List<Outcome> call(PollContext<String, byte[]> polled) {
    try {
      var records = polled.getConsumerRecordsFlattened();
      int status = http.send(requestOf(records), BodyHandlers.discarding()).statusCode();
      boolean isRejected = status >= 400 && status < 500 && status != 408 && status != 429;
      if (status != 200 && !isRejected) throw new IllegalStateException("the service answers " + status);
      done.addAndGet(records.size());
      return records.stream().map(record -> new Outcome(isRejected ? "rejected" : "applied", record)).toList();
    } catch (java.io.IOException error) {
      throw new java.io.UncheckedIOException(error);
    } catch (InterruptedException error) {
      throw new IllegalStateException(error);
    }
  }

  private HttpRequest requestOf(List<ConsumerRecord<String, byte[]>> records) throws java.io.IOException {
    var request = HttpRequest.newBuilder()
        .header("content-type", "application/json")
        .header("accept", "application/json")
        .header("authorization", "Bearer bench-token");
    if (!isOfLists) {
      return request.uri(URI.create(text("serviceUrl") + "/api/v1/machineClassification"))
          .POST(HttpRequest.BodyPublishers.ofByteArray(JSON.writeValueAsBytes(JSON.readTree(records.get(0).value()))))
          .build();
    }
    ObjectNode body = JSON.createObjectNode();
    ArrayNode machines = body.putArray("machines");
    for (var record : records) machines.add(JSON.readTree(record.value()));
    return request.uri(URI.create(text("serviceUrl") + "/api/v1/workOrderList"))
        .PUT(HttpRequest.BodyPublishers.ofByteArray(JSON.writeValueAsBytes(body)))
        .build();
  }

  private List<ProducerRecord<String, byte[]>> outcomesOf(List<Outcome> outcomes) {
    var records = new ArrayList<ProducerRecord<String, byte[]>>();
    for (var outcome : outcomes) records.add(recordOf(outcome));
    return records;
  }

  /** An outcome record like the bridge's. */
  private ProducerRecord<String, byte[]> recordOf(Outcome outcome) {
    var of = outcome.of();
    ObjectNode value = JSON.createObjectNode().put("machineId", of.key()).put("attempts", 1);
    value.putObject("source").put("topic", of.topic()).put("partition", of.partition()).put("offset", of.offset());
    byte[] bytes;
    try {
      bytes = JSON.writeValueAsBytes(value);
    } catch (java.io.IOException error) {
      throw new java.io.UncheckedIOException(error);
    }
    var record = new ProducerRecord<>(text("outcomes"), of.key(), bytes);
    BiConsumer<String, String> header =
        (name, text) -> record.headers().add(name, text.getBytes(StandardCharsets.UTF_8));
    header.accept("ce_specversion", "1.0");
    header.accept("ce_id", UUID.randomUUID().toString());
    header.accept("ce_source", "/machine-bridge/bench");
    header.accept("ce_type", (isOfLists ? "work-order-list." : "downtime-reason.") + outcome.kind() + ".v1");
    header.accept("ce_time", Instant.now().toString());
    header.accept("ce_subject", of.key());
    header.accept("content-type", "application/json");
    return record;
  }

  private String text(String name) {
    return options.path(name).asText();
  }
}
