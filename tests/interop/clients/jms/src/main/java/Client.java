import jakarta.jms.CompletionListener;
import jakarta.jms.Connection;
import jakarta.jms.DeliveryMode;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.Queue;
import jakarta.jms.Session;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.qpid.jms.JmsConnectionFactory;
import org.json.JSONArray;
import org.json.JSONObject;

/**
 * The client of the interop suite on Qpid JMS: see tests/interop/README.md.
 *
 * <pre>
 * Client send PORT ADDRESS settled|unsettled FILE    an empty ADDRESS: a producer without destination
 * Client receive PORT ADDRESS COUNT
 * Client talk PORT
 * </pre>
 */
public final class Client {
    /** Everything that takes longer has failed. */
    private static final long LIMIT_MS = 60_000;

    /** How the library tells a condition to the application: in the text of the exception. */
    private static final Pattern CONDITION = Pattern.compile("\\[condition = ([^\\]]*)\\]");

    private static final String OPTIONS = "?jms.validatePropertyNames=false&jms.connectTimeout=" + LIMIT_MS
            + "&jms.requestTimeout=" + LIMIT_MS + "&jms.sendTimeout=" + LIMIT_MS;

    private static final String NAMED = "&jms.clientID=interop-jms";

    /** A settled producer, and ids that are no strings. */
    private static final String SETTLED =
            "&jms.presettlePolicy.presettleProducers=true&jms.messageIDPolicy.messageIDType=UUID";

    private Client() {
    }

    public static void main(String[] arguments) throws Exception {
        String uri = "amqp://127.0.0.1:" + arguments[1] + OPTIONS;
        if (arguments[0].equals("talk")) {
            Talk.talk(uri, LIMIT_MS);
            System.exit(0); // with what a failed test left open
        }
        boolean settled = arguments[3].equals("settled");
        String full = uri + NAMED + (settled ? SETTLED : "");
        try (Connection connection = new JmsConnectionFactory(full).createConnection()) {
            connection.start();
            Session session = connection.createSession(Session.AUTO_ACKNOWLEDGE);
            JSONObject answer = arguments[0].equals("send")
                    ? send(session, arguments[2], settled, Path.of(arguments[4]))
                    : receive(session, arguments[2], Integer.parseInt(arguments[3]));
            System.out.write(answer.toString().getBytes(StandardCharsets.UTF_8));
            System.out.flush();
        }
    }

    private static JSONObject send(Session session, String address, boolean settled, Path file) throws Exception {
        JSONArray described = new JSONArray(Files.readString(file));
        Queue queue = address.isEmpty() ? null : session.createQueue(address);
        MessageProducer producer = session.createProducer(queue);
        CountDownLatch unanswered = new CountDownLatch(described.length());
        JSONObject[] outcomes = new JSONObject[described.length()];
        for (int number = 0; number < described.length(); number++) {
            JSONObject each = described.getJSONObject(number);
            Message message = Messages.make(session, each);
            JSONObject header = each.optJSONObject("header", new JSONObject());
            int mode = header.has("durable") ? DeliveryMode.PERSISTENT : DeliveryMode.NON_PERSISTENT;
            int priority = header.has("priority")
                    ? Integer.parseInt(header.getJSONObject("priority").getString("value"))
                    : Message.DEFAULT_PRIORITY;
            Listener listener = new Listener(outcomes, number, settled ? "settled" : "accepted", unanswered);
            if (queue != null) {
                producer.send(message, mode, priority, Message.DEFAULT_TIME_TO_LIVE, listener);
            } else {
                String to = each.getJSONObject("properties").getJSONObject("to").getString("value");
                producer.send(session.createQueue(to), message, mode, priority, Message.DEFAULT_TIME_TO_LIVE,
                        listener);
            }
        }
        if (!unanswered.await(LIMIT_MS, TimeUnit.MILLISECONDS)) {
            throw new JMSException(unanswered.getCount() + " messages have no outcome");
        }
        producer.close();
        return new JSONObject().put("outcomes", new JSONArray(outcomes));
    }

    private static JSONObject receive(Session session, String address, int count) throws Exception {
        JSONArray messages = new JSONArray();
        MessageConsumer consumer = session.createConsumer(session.createQueue(address));
        while (messages.length() < count) {
            Message message = consumer.receive(LIMIT_MS);
            if (message == null) {
                throw new JMSException("only " + messages.length() + " messages came");
            }
            messages.put(Messages.seen(message));
        }
        consumer.close();
        return new JSONObject().put("messages", messages);
    }

    /** Remembers the outcome of one message. */
    private record Listener(JSONObject[] outcomes, int number, String success, CountDownLatch unanswered)
            implements CompletionListener {
        @Override
        public void onCompletion(Message message) {
            tell(message, success, "");
        }

        @Override
        public void onException(Message message, Exception exception) {
            Matcher condition = CONDITION.matcher(exception.getMessage());
            boolean rejected = condition.find();
            tell(message, rejected ? "rejected" : exception.toString(), rejected ? condition.group(1) : "");
        }

        private void tell(Message message, String state, String condition) {
            try {
                JSONObject generated = Messages.generated(message);
                outcomes[number] = new JSONObject()
                        .put("state", state).put("condition", condition).put("generated", generated);
            } catch (JMSException exception) {
                outcomes[number] = new JSONObject().put("state", exception.toString());
            }
            unanswered.countDown();
        }
    }
}
