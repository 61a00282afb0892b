import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.Date;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.qpid.proton.amqp.Binary;
import org.apache.qpid.proton.amqp.Decimal128;
import org.apache.qpid.proton.amqp.Decimal32;
import org.apache.qpid.proton.amqp.Decimal64;
import org.apache.qpid.proton.amqp.DescribedType;
import org.apache.qpid.proton.amqp.Symbol;
import org.apache.qpid.proton.amqp.UnsignedByte;
import org.apache.qpid.proton.amqp.UnsignedInteger;
import org.apache.qpid.proton.amqp.UnsignedLong;
import org.apache.qpid.proton.amqp.UnsignedShort;
import org.json.JSONArray;
import org.json.JSONObject;

/** Values as tests/interop/values.py describes them, in Java's types and, where it has none, Proton-J's. */
final class Values {
    private static final HexFormat HEX = HexFormat.of();

    /** The classes whose arrays Qpid JMS writes as arrays of an AMQP type. */
    private static final Map<String, Class<?>> ELEMENTS = Map.ofEntries(
            Map.entry("boolean", boolean.class), Map.entry("short", short.class), Map.entry("int", int.class),
            Map.entry("long", long.class), Map.entry("float", float.class), Map.entry("double", double.class),
            Map.entry("ushort", UnsignedShort.class), Map.entry("uint", UnsignedInteger.class),
            Map.entry("ulong", UnsignedLong.class), Map.entry("timestamp", Date.class),
            Map.entry("uuid", UUID.class), Map.entry("binary", Binary.class),
            Map.entry("string", String.class), Map.entry("symbol", Symbol.class));

    private Values() {
    }

    static JSONObject typed(String type, Object value) {
        return new JSONObject().put("type", type).put("value", value == null ? JSONObject.NULL : value);
    }

    static Object make(JSONObject typed) {
        String type = typed.getString("type");
        return switch (type) {
            case "null" -> null;
            case "list" -> list(typed.getJSONArray("value"));
            case "map" -> map(typed.getJSONArray("value"));
            case "array" -> array(ELEMENTS.get(typed.getString("of")), list(typed.getJSONArray("value")));
            case "described" -> new Described(
                    make(typed.getJSONObject("descriptor")), make(typed.getJSONObject("value")));
            default -> primitive(type, typed.getString("value"));
        };
    }

    private record Described(Object descriptor, Object described) implements DescribedType {
        @Override
        public Object getDescriptor() {
            return descriptor;
        }

        @Override
        public Object getDescribed() {
            return described;
        }
    }

    private static Object primitive(String type, String text) {
        return switch (type) {
            case "boolean" -> Boolean.valueOf(text);
            case "ubyte" -> UnsignedByte.valueOf((byte) Integer.parseInt(text));
            case "ushort" -> UnsignedShort.valueOf((short) Integer.parseInt(text));
            case "uint" -> UnsignedInteger.valueOf(Integer.parseUnsignedInt(text));
            case "ulong" -> UnsignedLong.valueOf(Long.parseUnsignedLong(text));
            case "byte" -> Byte.valueOf(text);
            case "short" -> Short.valueOf(text);
            case "int" -> Integer.valueOf(text);
            case "long" -> Long.valueOf(text);
            case "float" -> Float.valueOf(text);
            case "double" -> Double.valueOf(text);
            case "decimal32" -> new Decimal32(Integer.parseUnsignedInt(text, 16));
            case "decimal64" -> new Decimal64(Long.parseUnsignedLong(text, 16));
            case "decimal128" -> new Decimal128(HEX.parseHex(text));
            case "char" -> text.charAt(0);
            case "timestamp" -> new Date(Long.parseLong(text));
            case "uuid" -> UUID.fromString(text);
            case "binary" -> new Binary(HEX.parseHex(text));
            case "string" -> text;
            case "symbol" -> Symbol.valueOf(text);
            default -> throw new IllegalArgumentException("Qpid JMS cannot send the type " + type);
        };
    }

    static List<Object> list(JSONArray elements) {
        List<Object> made = new ArrayList<>();
        for (int number = 0; number < elements.length(); number++) {
            made.add(make(elements.getJSONObject(number)));
        }
        return made;
    }

    static Map<Object, Object> map(JSONArray pairs) {
        Map<Object, Object> made = new LinkedHashMap<>();
        for (int number = 0; number < pairs.length(); number++) {
            JSONArray pair = pairs.getJSONArray(number);
            made.put(make(pair.getJSONObject(0)), make(pair.getJSONObject(1)));
        }
        return made;
    }

    private static Object array(Class<?> element, List<Object> elements) {
        Object made = Array.newInstance(element, elements.size());
        for (int number = 0; number < elements.size(); number++) {
            Array.set(made, number, elements.get(number));
        }
        return made;
    }

    /** Returns a value as the interfaces of JMS take it, which know nothing of Proton-J. */
    static Object plain(Object value) {
        return value instanceof Binary binary ? bytes(binary) : value;
    }

    private static byte[] bytes(Binary binary) {
        byte[] copy = new byte[binary.getLength()];
        System.arraycopy(binary.getArray(), binary.getArrayOffset(), copy, 0, copy.length);
        return copy;
    }

    static JSONObject seen(Object found) {
        if (found == null) {
            return typed("null", null);
        }
        if (found instanceof byte[] bytes) {
            return typed("binary", HEX.formatHex(bytes));
        }
        if (found instanceof Binary binary) {
            return typed("binary", HEX.formatHex(bytes(binary)));
        }
        if (found instanceof DescribedType described) {
            return typed("described", seen(described.getDescribed()))
                    .put("descriptor", seen(described.getDescriptor()));
        }
        if (found instanceof List<?> list) {
            JSONArray elements = new JSONArray();
            list.forEach(each -> elements.put(seen(each)));
            return typed("list", elements);
        }
        if (found instanceof Map<?, ?> map) {
            JSONArray pairs = new JSONArray();
            map.forEach((key, each) -> pairs.put(new JSONArray(List.of(seen(key), seen(each)))));
            return typed("map", pairs);
        }
        if (found.getClass().isArray()) {
            JSONArray elements = new JSONArray();
            for (int number = 0; number < Array.getLength(found); number++) {
                elements.put(seen(Array.get(found, number)));
            }
            String of = ELEMENTS.entrySet().stream()
                    .filter(entry -> entry.getValue() == found.getClass().getComponentType())
                    .map(Map.Entry::getKey).findFirst().orElse(found.getClass().toString());
            return typed("array", elements).put("of", of);
        }
        return typed(type(found), text(found));
    }

    private static String type(Object found) {
        return switch (found.getClass().getSimpleName()) {
            case "UnsignedByte" -> "ubyte";
            case "UnsignedShort" -> "ushort";
            case "UnsignedInteger" -> "uint";
            case "UnsignedLong" -> "ulong";
            case "Integer" -> "int";
            case "Character" -> "char";
            case "Date" -> "timestamp";
            default -> found.getClass().getSimpleName().toLowerCase();
        };
    }

    private static String text(Object found) {
        if (found instanceof Date date) {
            return Long.toString(date.getTime());
        }
        if (found instanceof Decimal32 decimal) {
            return HEX.toHexDigits(decimal.getBits());
        }
        if (found instanceof Decimal64 decimal) {
            return HEX.toHexDigits(decimal.getBits());
        }
        if (found instanceof Decimal128 decimal) {
            return HEX.formatHex(decimal.asBytes());
        }
        return found.toString();
    }
}
