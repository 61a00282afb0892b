import jakarta.jms.BytesMessage;
import jakarta.jms.JMSException;
import jakarta.jms.MapMessage;
import jakarta.jms.Message;
import jakarta.jms.MessageEOFException;
import jakarta.jms.ObjectMessage;
import jakarta.jms.Queue;
import jakarta.jms.Session;
import jakarta.jms.StreamMessage;
import jakarta.jms.TextMessage;
import java.io.Serializable;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import org.json.JSONArray;
import org.json.JSONObject;

/** Messages as tests/interop/catalogue.py describes them, made and read by the interfaces of JMS alone. */
final class Messages {
    private static final HexFormat HEX = HexFormat.of();

    /** The prefixes by which Qpid JMS tells the type of an id that is no string. */
    private static final String ULONG = "ID:AMQP_ULONG:";
    private static final String UUID = "ID:AMQP_UUID:";
    private static final String BINARY = "ID:AMQP_BINARY:";
    private static final String NO_PREFIX = "ID:AMQP_NO_PREFIX:";

    private Messages() {
    }

    static Message make(Session session, JSONObject described) throws JMSException {
        Message message = body(session, described.getJSONObject("body"));
        JSONObject header = described.optJSONObject("header", new JSONObject());
        if (header.has("ttl")) {
            message.setLongProperty("JMS_AMQP_TTL", Long.parseLong(header.getJSONObject("ttl").getString("value")));
        }
        JSONObject properties = described.optJSONObject("properties", new JSONObject());
        for (String name : properties.keySet()) {
            setProperty(session, message, name, properties.getJSONObject(name));
        }
        JSONArray application = described.optJSONArray("application-properties", new JSONArray());
        for (int number = 0; number < application.length(); number++) {
            JSONArray pair = application.getJSONArray(number);
            message.setObjectProperty(pair.getString(0), Values.make(pair.getJSONObject(1)));
        }
        return message;
    }

    private static void setProperty(Session session, Message message, String name, JSONObject typed)
            throws JMSException {
        String text = typed.getString("value");
        switch (name) {
            case "to" -> { } // is where it is sent
            case "subject" -> message.setJMSType(text);
            case "reply-to" -> message.setJMSReplyTo(session.createQueue(text));
            case "correlation-id" -> message.setJMSCorrelationID(id(typed.getString("type"), text));
            case "group-id" -> message.setStringProperty("JMSXGroupID", text);
            case "group-sequence" -> message.setIntProperty("JMSXGroupSeq", (int) Long.parseLong(text));
            case "reply-to-group-id" -> message.setStringProperty("JMS_AMQP_REPLY_TO_GROUP_ID", text);
            default -> throw new JMSException("JMS cannot set the property " + name);
        }
    }

    private static String id(String type, String text) {
        return switch (type) {
            case "ulong" -> ULONG + text;
            case "uuid" -> UUID + text;
            case "binary" -> BINARY + text.toUpperCase();
            default -> text;
        };
    }

    private static JSONObject typedId(String id) {
        if (id.startsWith(ULONG)) {
            return Values.typed("ulong", id.substring(ULONG.length()));
        }
        if (id.startsWith(UUID)) {
            return Values.typed("uuid", id.substring(UUID.length()));
        }
        if (id.startsWith(BINARY)) {
            return Values.typed("binary", id.substring(BINARY.length()).toLowerCase());
        }
        return Values.typed("string", id.startsWith(NO_PREFIX) ? id.substring(NO_PREFIX.length()) : id);
    }

    private static Message body(Session session, JSONObject body) throws JMSException {
        switch (body.getString("kind")) {
            case "none":
                return session.createMessage();
            case "data":
                BytesMessage bytes = session.createBytesMessage();
                bytes.writeBytes(HEX.parseHex(body.getJSONArray("sections").getString(0)));
                return bytes;
            case "sequence":
                StreamMessage stream = session.createStreamMessage();
                for (Object element : Values.list(body.getJSONArray("sections").getJSONArray(0))) {
                    stream.writeObject(Values.plain(element));
                }
                return stream;
            default:
                return valueBody(session, body.getJSONObject("value"));
        }
    }

    private static Message valueBody(Session session, JSONObject value) throws JMSException {
        switch (value.getString("type")) {
            case "null", "string":
                return session.createTextMessage((String) Values.make(value));
            case "map":
                MapMessage map = session.createMapMessage();
                for (var entry : Values.map(value.getJSONArray("value")).entrySet()) {
                    map.setObject((String) entry.getKey(), Values.plain(entry.getValue()));
                }
                return map;
            default:
                ObjectMessage object = session.createObjectMessage();
                object.setBooleanProperty("JMS_AMQP_TYPED_ENCODING", true);
                object.setObject((Serializable) Values.make(value));
                return object;
        }
    }

    /** Describes what the library has set by itself while it sent a message. */
    static JSONObject generated(Message message) throws JMSException {
        return new JSONObject()
                .put("message-id", typedId(message.getJMSMessageID()))
                .put("creation-time", Values.typed("timestamp", Long.toString(message.getJMSTimestamp())));
    }

    static JSONObject seen(Message message) throws JMSException {
        JSONObject properties = generated(message);
        if (message.getJMSDestination() instanceof Queue queue) {
            properties.put("to", Values.typed("string", queue.getQueueName()));
        }
        if (message.getJMSType() != null) {
            properties.put("subject", Values.typed("string", message.getJMSType()));
        }
        if (message.getJMSReplyTo() instanceof Queue queue) {
            properties.put("reply-to", Values.typed("string", queue.getQueueName()));
        }
        if (message.getJMSCorrelationID() != null) {
            properties.put("correlation-id", typedId(message.getJMSCorrelationID()));
        }
        if (message.propertyExists("JMSXGroupID")) {
            properties.put("group-id", Values.typed("string", message.getStringProperty("JMSXGroupID")));
        }
        if (message.propertyExists("JMSXGroupSeq")) {
            String number = Integer.toUnsignedString(message.getIntProperty("JMSXGroupSeq"));
            properties.put("group-sequence", Values.typed("uint", number));
        }
        if (message.propertyExists("JMS_AMQP_REPLY_TO_GROUP_ID")) {
            String group = message.getStringProperty("JMS_AMQP_REPLY_TO_GROUP_ID");
            properties.put("reply-to-group-id", Values.typed("string", group));
        }
        JSONArray application = new JSONArray();
        for (Object each : Collections.list(message.getPropertyNames())) {
            String name = (String) each;
            if (!name.startsWith("JMS")) {
                application.put(new JSONArray().put(name).put(Values.seen(message.getObjectProperty(name))));
            }
        }
        return new JSONObject()
                .put("header", new JSONObject()
                        .put("priority", Values.typed("ubyte", Integer.toString(message.getJMSPriority()))))
                .put("properties", properties)
                .put("application-properties", application)
                .put("body", seenBody(message));
    }

    private static JSONObject seenBody(Message message) throws JMSException {
        if (message instanceof BytesMessage bytes) {
            byte[] body = new byte[(int) bytes.getBodyLength()];
            bytes.readBytes(body);
            return new JSONObject().put("kind", "data").put("sections", new JSONArray().put(HEX.formatHex(body)));
        }
        if (message instanceof StreamMessage stream) {
            JSONArray elements = new JSONArray();
            try {
                while (true) {
                    elements.put(Values.seen(stream.readObject()));
                }
            } catch (MessageEOFException end) {
                return new JSONObject().put("kind", "sequence").put("sections", new JSONArray().put(elements));
            }
        }
        JSONObject body = new JSONObject().put("kind", "value");
        if (message instanceof TextMessage text) {
            return body.put("value", Values.seen(text.getText()));
        }
        if (message instanceof MapMessage map) {
            JSONArray pairs = new JSONArray();
            for (Object name : Collections.list(map.getMapNames())) {
                pairs.put(new JSONArray(List.of(Values.seen(name), Values.seen(map.getObject((String) name)))));
            }
            return body.put("value", Values.typed("map", pairs));
        }
        if (message instanceof ObjectMessage object) {
            return body.put("value", Values.seen(object.getObject()));
        }
        return new JSONObject().put("kind", "none");
    }
}
