import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Prints each state change and each outcome once, as a JSON line. Needs org.apache.kafka:kafka-clients. */
public class Subscriber {
  private static final int REMEMBERED_IDS = 100_000;

  public static void main(String[] args) {
    var prefix = System.getenv().getOrDefault("KAFKA_TOPIC_PREFIX", "");
    var settings = new Properties();
    settings.put("bootstrap.servers", System.getenv().getOrDefault("KAFKA_BROKERS", "127.0.0.1:9092"));
    settings.put("group.id", prefix + "example-java");
    settings.put("isolation.level", "read_committed");
    settings.put("auto.offset.reset", "earliest");
    // The latest ids, oldest first: a duplicate comes soon after its original.
    var seen = new LinkedHashMap<String, Boolean>() {
      @Override
      protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
        return size() > REMEMBERED_IDS;
      }
    };
    var strings = new StringDeserializer();
    var consumer = new KafkaConsumer<String, String>(settings, strings, strings);
    var main = Thread.currentThread();
    // The JVM ends when its hooks end: close() must commit and leave the group before that.
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      consumer.wakeup();
      try {
        main.join();
      } catch (InterruptedException cutShort) {
        // the JVM ends anyway
      }
    }));
    consumer.subscribe(
        List.of(prefix + "machine.state-changes.v1", prefix + "machine.command-outcomes.v1"));
    try (consumer) {
      while (true) {
        for (var message : consumer.poll(Duration.ofSeconds(1))) {
          var id = header(message, "ce_id");
          if (seen.put(id, true) != null) continue;
          System.out.printf(
              "{\"id\":\"%s\",\"type\":\"%s\",\"data\":%s}%n",
              id, header(message, "ce_type"), message.value());
        }
      }
    } catch (WakeupException stopping) {
      // SIGTERM
    }
  }

  private static String header(ConsumerRecord<String, String> message, String name) {
    return new String(message.headers().lastHeader(name).value(), StandardCharsets.UTF_8);
  }
}
