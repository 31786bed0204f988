import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/** Runs the real transformations on the cases of a file and writes what they give. Needs no broker. */
public final class TransformRecorder {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final JsonConverter CONVERTER = new JsonConverter();

    public static void main(String[] arguments) throws Exception {
        CONVERTER.configure(Map.of("schemas.enable", "true", "replace.null.with.default", "false"), false);
        JsonNode input = JSON.readTree(new File(arguments[0]));
        ObjectNode output = JSON.createObjectNode();
        for (JsonNode test : input.get("cases")) {
            output.set(test.get("name").asText(), run(test, input.get("records")));
        }
        write(new File(arguments[1]), output);
        System.out.println(output.size() + " cases are recorded");
        System.exit(0);
    }

    /** One case a line, so that a change is seen in few lines. */
    private static void write(File file, ObjectNode output) throws Exception {
        StringBuilder text = new StringBuilder("{\n");
        for (Iterator<Map.Entry<String, JsonNode>> cases = output.fields(); cases.hasNext(); ) {
            Map.Entry<String, JsonNode> one = cases.next();
            text.append(JSON.writeValueAsString(one.getKey())).append(": ").append(JSON.writeValueAsString(one.getValue()));
            text.append(cases.hasNext() ? ",\n" : "\n");
        }
        java.nio.file.Files.writeString(file.toPath(), text.append("}\n"));
    }

    private static ArrayNode run(JsonNode test, JsonNode records) {
        ArrayNode results = JSON.createArrayNode();
        for (JsonNode name : test.get("records")) {
            try {
                results.add(one(test, records.get(name.asText())));
            } catch (Throwable error) {
                ObjectNode node = JSON.createObjectNode();
                node.put("error", error.getClass().getName() + ": " + error.getMessage());
                results.add(node);
            }
        }
        return results;
    }

    private static JsonNode one(JsonNode test, JsonNode given) throws Exception {
        ConnectRecord record = record(given);
        if (test.has("predicate")) {
            Map<String, String> config = config(test.get("predicate"));
            Predicate predicate = (Predicate) Class.forName(config.remove("type")).getDeclaredConstructor().newInstance();
            predicate.configure(config);
            return JSON.getNodeFactory().booleanNode(predicate.test(record));
        }
        for (JsonNode step : test.get("transforms")) {
            Map<String, String> config = config(step);
            Transformation transformation =
                    (Transformation) Class.forName(config.remove("type")).getDeclaredConstructor().newInstance();
            transformation.configure(config);
            record = transformation.apply(record);
            if (record == null) {
                return JSON.nullNode();
            }
        }
        return shown(record);
    }

    private static Map<String, String> config(JsonNode node) {
        Map<String, String> config = new HashMap<>();
        for (Iterator<Map.Entry<String, JsonNode>> fields = node.fields(); fields.hasNext(); ) {
            Map.Entry<String, JsonNode> field = fields.next();
            config.put(field.getKey(), field.getValue().asText());
        }
        return config;
    }

    private static ConnectRecord record(JsonNode node) throws Exception {
        SchemaAndValue key = read(node.get("key"));
        SchemaAndValue value = read(node.get("value"));
        Integer partition = node.hasNonNull("partition") ? node.get("partition").asInt() : null;
        Long timestamp = node.hasNonNull("timestamp") ? node.get("timestamp").asLong() : null;
        ConnectHeaders headers = new ConnectHeaders();
        if (node.has("headers")) {
            for (JsonNode header : node.get("headers")) {
                headers.add(header.get("name").asText(), read(header.get("value")));
            }
        }
        String topic = node.get("topic").asText();
        if (node.has("offset")) {
            return new SinkRecord(topic, partition == null ? 0 : partition, key.schema(), key.value(), value.schema(),
                    value.value(), node.get("offset").asLong(), timestamp,
                    org.apache.kafka.common.record.TimestampType.CREATE_TIME, headers);
        }
        return new SourceRecord(Map.of(), Map.of(), topic, partition, key.schema(), key.value(), value.schema(),
                value.value(), timestamp, headers);
    }

    private static SchemaAndValue read(JsonNode node) throws Exception {
        if (node == null || node.isNull()) {
            return SchemaAndValue.NULL;
        }
        return CONVERTER.toConnectData("t", JSON.writeValueAsBytes(node));
    }

    private static JsonNode shown(ConnectRecord record) throws Exception {
        ObjectNode node = JSON.createObjectNode();
        node.put("topic", record.topic());
        node.put("partition", record.kafkaPartition());
        node.set("key", part(record.keySchema(), record.key()));
        node.set("value", part(record.valueSchema(), record.value()));
        node.put("timestamp", record.timestamp());
        ArrayNode headers = node.putArray("headers");
        for (Object one : record.headers()) {
            Header header = (Header) one;
            ObjectNode entry = headers.addObject();
            entry.put("name", header.key());
            entry.set("value", part(header.schema(), header.value()));
        }
        return node;
    }

    private static JsonNode part(org.apache.kafka.connect.data.Schema schema, Object value) throws Exception {
        byte[] bytes = CONVERTER.fromConnectData("t", schema, value);
        return bytes == null ? JSON.nullNode() : JSON.readTree(bytes);
    }
}
