import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Prints every record of a broker's topics, one a line, topic by topic. */
public final class TopicDump {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        try {
            dump(arguments);
        } catch (org.apache.kafka.common.KafkaException error) {
            // Kafka's own have no stack trace, over which the launcher would stumble.
            System.err.println(error);
            System.exit(1);
        }
    }

    private static void dump(String[] arguments) throws Exception {
        Map<String, Object> config = Map.of("bootstrap.servers", arguments[0], "isolation.level", "read_committed");
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        StringBuilder out = new StringBuilder();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(config, bytes, bytes)) {
            for (Map.Entry<String, List<PartitionInfo>> topic : consumer.listTopics().entrySet()) {
                for (PartitionInfo partition : topic.getValue()) {
                    read(consumer, new TopicPartition(topic.getKey(), partition.partition()), out);
                }
            }
        }
        System.out.print(out);
    }

    private static void read(KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition, StringBuilder out)
            throws Exception {
        List<TopicPartition> one = new ArrayList<>(List.of(partition));
        consumer.assign(one);
        consumer.seekToBeginning(one);
        long end = consumer.endOffsets(one).get(partition);
        while (consumer.position(partition) < end) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
                out.append(JSON.writeValueAsString(line(record))).append('\n');
            }
        }
    }

    private static ObjectNode line(ConsumerRecord<byte[], byte[]> record) {
        ObjectNode node = JSON.createObjectNode();
        node.put("topic", record.topic());
        node.put("partition", record.partition());
        node.put("key", text(record.key()));
        node.put("value", text(record.value()));
        var headers = node.putArray("headers");
        for (Header header : record.headers()) {
            headers.addArray().add(header.key()).add(text(header.value()));
        }
        return node;
    }

    private static String text(byte[] bytes) {
        return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
    }
}
