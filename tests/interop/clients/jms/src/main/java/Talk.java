import jakarta.jms.BytesMessage;
import jakarta.jms.Connection;
import jakarta.jms.JMSException;
import jakarta.jms.MapMessage;
import jakarta.jms.Message;
import jakarta.jms.MessageConsumer;
import jakarta.jms.QueueBrowser;
import jakarta.jms.Session;
import jakarta.jms.TextMessage;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.qpid.jms.JmsConnectionFactory;
import org.json.JSONArray;
import org.json.JSONObject;

/** Receives by the interfaces of JMS as it is told to, line by line: see tests/interop/README.md. */
final class Talk {
    private static final Map<String, Integer> ACKNOWLEDGES = Map.of(
            "auto", Session.AUTO_ACKNOWLEDGE,
            "client", Session.CLIENT_ACKNOWLEDGE,
            // What Qpid JMS offers besides: each message on its own.
            "individual", 101);

    private final String uri;
    private final long limitMs;
    private final Map<String, Connection> connections = new HashMap<>();
    private final Map<String, Consumer> consumers = new HashMap<>();

    private Talk(String uri, long limitMs) {
        this.uri = uri;
        this.limitMs = limitMs;
    }

    /** A consumer with a session of its own, and what it has received. */
    private record Consumer(Session session, MessageConsumer consumer, List<Message> taken) {
    }

    static void talk(String uri, long limitMs) throws Exception {
        Talk talk = new Talk(uri, limitMs);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JSONObject answer;
            try {
                answer = talk.answer(new JSONObject(line));
            } catch (JMSException exception) {
                answer = new JSONObject().put("error", exception.toString());
            }
            answers.println(answer);
        }
    }

    private JSONObject answer(JSONObject told) throws JMSException {
        switch (told.getString("do")) {
            case "connect" -> connect(told);
            case "disconnect" -> connections.remove(told.getString("connection")).close();
            case "consume" -> consume(told);
            case "acknowledge" -> acknowledge(consumer(told), told);
            case "recover" -> consumer(told).session.recover();
            case "close" -> consumers.remove(told.getString("consumer")).session.close();
            case "unsubscribe" -> unsubscribe(told);
            case "receive" -> {
                return receive(consumer(told), told.getInt("count"), told.getLong("timeout"));
            }
            case "browse" -> {
                return browse(told);
            }
            default -> throw new JMSException("nothing to do: " + told);
        }
        return new JSONObject();
    }

    private Consumer consumer(JSONObject told) {
        return consumers.get(told.getString("consumer"));
    }

    private void connect(JSONObject told) throws JMSException {
        StringBuilder full = new StringBuilder(uri);
        JSONObject options = told.getJSONObject("options");
        for (String name : options.keySet()) {
            full.append('&').append(name).append('=').append(options.getString(name));
        }
        Connection connection = new JmsConnectionFactory(full.toString()).createConnection();
        connections.put(told.getString("connection"), connection);
        connection.start();
    }

    private void consume(JSONObject told) throws JMSException {
        Connection connection = connections.get(told.getString("connection"));
        Session session = connection.createSession(ACKNOWLEDGES.get(told.getString("acknowledge")));
        String address = told.getString("address");
        String selector = told.optString("selector", null);
        String subscription = told.optString("subscription", null);
        MessageConsumer consumer = subscription == null
                ? session.createConsumer(session.createQueue(address), selector)
                : told.getBoolean("shared")
                ? session.createSharedDurableConsumer(session.createTopic(address), subscription, selector)
                : session.createDurableSubscriber(session.createTopic(address), subscription, selector, false);
        consumers.put(told.getString("consumer"), new Consumer(session, consumer, new ArrayList<>()));
    }

    private void unsubscribe(JSONObject told) throws JMSException {
        Connection connection = connections.get(told.getString("connection"));
        try (Session session = connection.createSession()) {
            session.unsubscribe(told.getString("subscription"));
        }
    }

    /** Receives so many messages, or until none comes in time: not at all (0), or in so many milliseconds. */
    private JSONObject receive(Consumer from, int count, long timeoutMs) throws JMSException {
        JSONArray deliveries = new JSONArray();
        while (deliveries.length() < count) {
            Message message = timeoutMs == 0
                    ? from.consumer.receiveNoWait()
                    : from.consumer.receive(timeoutMs < 0 ? limitMs : timeoutMs);
            if (message == null && timeoutMs < 0) {
                throw new JMSException("only " + deliveries.length() + " messages came");
            }
            if (message == null) {
                break;
            }
            from.taken.add(message);
            deliveries.put(described(message).put("number", from.taken.size() - 1));
        }
        return new JSONObject().put("deliveries", deliveries);
    }

    private JSONObject browse(JSONObject told) throws JMSException {
        Connection connection = connections.get(told.getString("connection"));
        JSONArray deliveries = new JSONArray();
        try (Session session = connection.createSession();
                QueueBrowser browser = session.createBrowser(session.createQueue(told.getString("address")),
                        told.optString("selector", null))) {
            for (Object message : Collections.list(browser.getEnumeration())) {
                deliveries.put(described((Message) message).put("number", deliveries.length()));
            }
        }
        return new JSONObject().put("deliveries", deliveries);
    }

    /** Acknowledges all that the session has received, or in a session of the kind individual the one message. */
    private static void acknowledge(Consumer from, JSONObject told) throws JMSException {
        Message message = from.taken.get(told.getInt("number"));
        if (told.has("outcome")) {
            message.setIntProperty("JMS_AMQP_ACK_TYPE", told.getInt("outcome"));
        }
        message.acknowledge();
    }

    private static JSONObject described(Message message) throws JMSException {
        // JMS counts deliveries from one, AMQP the failed ones before this.
        return new JSONObject()
                .put("body", body(message))
                .put("count", message.getIntProperty("JMSXDeliveryCount") - 1);
    }

    private static Object body(Message message) throws JMSException {
        if (message instanceof BytesMessage bytes) {
            byte[] body = new byte[(int) bytes.getBodyLength()];
            bytes.readBytes(body);
            return new String(body, StandardCharsets.UTF_8);
        }
        if (message instanceof MapMessage map) {
            JSONObject body = new JSONObject();
            for (Object name : Collections.list(map.getMapNames())) {
                body.put((String) name, map.getObject((String) name));
            }
            return body;
        }
        return message instanceof TextMessage text ? text.getText() : message.toString();
    }
}
