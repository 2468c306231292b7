// Trades of each symbol in a capture, with the C library from Java: the functions of stopbit.h that it needs, and a
// lambda for each record. For the foreign-function interface as JDK 17 has it, an incubator: later ones have moved it to
// java.lang.foreign and renamed parts of it (JDK 22 has its final form).
//
//     javac --add-modules jdk.incubator.foreign Trades.java
//     java --add-modules jdk.incubator.foreign --enable-native-access=ALL-UNNAMED -Dstopbit=/usr/lib/libstopbit.so Trades ...
//     Trades CAPTURE FEED.toml                lines A and B of each channel merged
//     Trades CAPTURE TEMPLATES FRAMING        day.pcap templates.xml cme

import static jdk.incubator.foreign.CLinker.C_INT;
import static jdk.incubator.foreign.CLinker.C_LONG;
import static jdk.incubator.foreign.CLinker.C_POINTER;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.TreeMap;
import jdk.incubator.foreign.CLinker;
import jdk.incubator.foreign.FunctionDescriptor;
import jdk.incubator.foreign.MemoryAccess;
import jdk.incubator.foreign.MemoryAddress;
import jdk.incubator.foreign.MemoryLayout;
import jdk.incubator.foreign.MemorySegment;
import jdk.incubator.foreign.ResourceScope;
import jdk.incubator.foreign.SegmentAllocator;
import jdk.incubator.foreign.SymbolLookup;

public final class Trades {
  /** stopbit.h, by hand: functions, and where the members of its structures are. */
  private static final class Library {
    static final int OK = 0;
    static final int FIELD = 0;
    static final MemoryLayout ITEM = MemoryLayout.structLayout(
        C_INT.withName("kind"), C_INT.withName("type"), C_INT.withName("id"), C_INT.withName("node"), C_INT.withName("depth"),
        C_INT.withName("count"), C_POINTER.withName("name"), C_LONG.withName("value"), C_INT.withName("exponent"),
        MemoryLayout.paddingLayout(32), C_LONG.withName("text_size"), C_POINTER.withName("text"));
    static final MemoryLayout HEADER = MemoryLayout.structLayout(
        C_LONG.withName("arrival_ns"), C_INT.withName("sequence"), C_INT.withName("template_index"), C_INT.withName("template_id"),
        CLinker.C_SHORT.withName("channel"), CLinker.C_SHORT.withName("message_index"), CLinker.C_SHORT.withName("sender_epoch"),
        CLinker.C_CHAR.withName("flags"), CLinker.C_CHAR.withName("source"), CLinker.C_CHAR.withName("time_quality"),
        MemoryLayout.paddingLayout(24), C_POINTER.withName("template_name"));
    static final MemoryLayout EVENT = MemoryLayout.structLayout(
        C_POINTER.withName("kind"), C_POINTER.withName("code"), C_POINTER.withName("detail"), C_POINTER.withName("template_name"),
        C_POINTER.withName("field_name"), C_LONG.withName("packet"));  // and more
    static final MemoryLayout OPTIONS = MemoryLayout.structLayout(
        C_LONG.withName("size"), C_POINTER.withName("framing"), C_POINTER.withName("reset"), C_POINTER.withName("engine"),
        C_INT.withName("strict"), CLinker.C_SHORT.withName("channels"), MemoryLayout.paddingLayout(16), C_POINTER.withName("pace"),
        C_POINTER.withName("groups"), C_LONG.withName("group_count"), C_LONG.withName("limit"));

    private static final SymbolLookup SYMBOLS = load();
    private static SymbolLookup load() {
      System.load(System.getProperty("stopbit", "/usr/lib/libstopbit.so"));
      return SymbolLookup.loaderLookup();
    }
    private static MethodHandle function(String name, MemoryLayout result, MemoryLayout... parameters) {
      final Class<?>[] types = new Class<?>[parameters.length];
      for (int i = 0; i < types.length; ++i) types[i] = type(parameters[i]);
      final boolean isVoid = result == null;
      return CLinker.getInstance().downcallHandle(
          SYMBOLS.lookup(name).orElseThrow(() -> new UnsatisfiedLinkError(name)),
          MethodType.methodType(isVoid ? void.class : type(result), types),
          isVoid ? FunctionDescriptor.ofVoid(parameters) : FunctionDescriptor.of(result, parameters));
    }
    private static Class<?> type(MemoryLayout layout) {
      return layout == C_POINTER ? MemoryAddress.class : layout == C_LONG ? long.class : int.class;
    }

    static final MethodHandle PROGRAM_NEW = function("stopbit_program_new", C_POINTER);
    static final MethodHandle PROGRAM_FREE = function("stopbit_program_free", null, C_POINTER);
    static final MethodHandle PROGRAM_ERROR = function("stopbit_program_error", C_POINTER, C_POINTER);
    static final MethodHandle PROGRAM_COMPILE = function("stopbit_program_compile", C_INT, C_POINTER, C_POINTER, C_LONG);
    static final MethodHandle REPLAY_NEW = function("stopbit_replay_new", C_POINTER);
    static final MethodHandle REPLAY_FREE = function("stopbit_replay_free", null, C_POINTER);
    static final MethodHandle REPLAY_ERROR = function("stopbit_replay_error", C_POINTER, C_POINTER);
    static final MethodHandle REPLAY_OPEN =
        function("stopbit_replay_open", C_INT, C_POINTER, C_POINTER, C_POINTER, C_LONG, C_POINTER);
    static final MethodHandle REPLAY_OPEN_FEED =
        function("stopbit_replay_open_feed", C_INT, C_POINTER, C_POINTER, C_POINTER, C_POINTER, C_POINTER, C_LONG, C_POINTER);
    static final MethodHandle REPLAY_RUN = function("stopbit_replay_run", C_INT, C_POINTER, C_POINTER, C_POINTER);
    static final MethodHandle RECORD_HEADER = function("stopbit_record_header", C_POINTER, C_POINTER);
    static final MethodHandle RECORD_EVENT = function("stopbit_record_event", C_POINTER, C_POINTER);
    static final MethodHandle RECORD_WALK = function("stopbit_record_walk", C_INT, C_POINTER, C_POINTER, C_POINTER);
  }

  /** A structure that C shows to a callback, valid until that returns. */
  private record Struct(MemorySegment memory, MemoryLayout layout) {
    static Struct at(MemoryAddress address, MemoryLayout layout) {
      return new Struct(address.asSegment(layout.byteSize(), ResourceScope.globalScope()), layout);
    }
    private long offset(String member) { return layout.byteOffset(MemoryLayout.PathElement.groupElement(member)); }
    int number(String member) { return MemoryAccess.getIntAtOffset(memory, offset(member)); }
    long big(String member) { return MemoryAccess.getLongAtOffset(memory, offset(member)); }
    MemoryAddress address(String member) { return MemoryAccess.getAddressAtOffset(memory, offset(member)); }
    String text(String member) { return CLinker.toJavaString(address(member)); }
    String text(String member, long bytes) {
      return new String(address(member).asSegment(bytes, ResourceScope.globalScope()).toByteArray(), StandardCharsets.UTF_8);
    }
    void put(String member, MemoryAddress value) { MemoryAccess.setAddressAtOffset(memory, offset(member), value); }
    void put(String member, long value) { MemoryAccess.setLongAtOffset(memory, offset(member), value); }
  }

  /** What C calls: int take(void* user, T* shown). Valid as long as the scope. */
  public interface Callback { int take(MemoryAddress user, MemoryAddress shown); }
  private static MemoryAddress callback(Callback call, ResourceScope scope) throws ReflectiveOperationException {
    final MethodType type = MethodType.methodType(int.class, MemoryAddress.class, MemoryAddress.class);
    final MethodHandle handle = MethodHandles.lookup().findVirtual(Callback.class, "take", type).bindTo(call);
    return CLinker.getInstance().upcallStub(handle, FunctionDescriptor.of(C_INT, C_POINTER, C_POINTER), scope);
  }

  private static MemoryAddress texts(SegmentAllocator allocator, ResourceScope scope, String text) {
    return allocator.allocate(C_POINTER, CLinker.toCString(text, scope).address()).address();
  }

  private static final class Sum {
    long trades;
    long quantity;
    double value;
  }

  /** The fields of one trade. */
  private static final class Trade {
    String symbol = "";
    double price;
    long quantity;

    /** Takes a field. An exception would end the process: it crosses C. */
    int take(MemoryAddress shown) {
      final Struct item = Struct.at(shown, Library.ITEM);
      if (item.number("kind") != Library.FIELD) return 0;
      switch (item.text("name")) {
        case "Symbol" -> symbol = item.text("text", item.big("text_size"));
        case "LastPrice" -> {
          final int exponent = item.number("exponent");
          price = exponent < 0 ? item.big("value") / Math.pow(10, -exponent) : item.big("value") * Math.pow(10, exponent);
        }
        case "LastSize" -> quantity = item.big("value");
        default -> { }
      }
      return 0;
    }
  }

  private static TreeMap<String, Sum> sumUp(MemoryAddress program, MemoryAddress replay, String[] arguments) throws Throwable {
    final TreeMap<String, Sum> sums = new TreeMap<>();
    try (ResourceScope scope = ResourceScope.newConfinedScope()) {
      final SegmentAllocator allocator = SegmentAllocator.ofScope(scope);
      final MemoryAddress captures = texts(allocator, scope, arguments[0]);
      if (arguments.length == 2) {
        check(replay, (int) Library.REPLAY_OPEN_FEED.invokeExact(replay, program, CLinker.toCString(arguments[1], scope).address(),
            MemoryAddress.NULL, captures, 1L, MemoryAddress.NULL));
      } else {
        if ((int) Library.PROGRAM_COMPILE.invokeExact(program, texts(allocator, scope, arguments[1]), 1L) != Library.OK) {
          throw new IllegalArgumentException(CLinker.toJavaString((MemoryAddress) Library.PROGRAM_ERROR.invokeExact(program)));
        }
        final Struct options = new Struct(allocator.allocate(Library.OPTIONS).fill((byte) 0), Library.OPTIONS);
        options.put("size", Library.OPTIONS.byteSize());
        options.put("framing", CLinker.toCString(arguments[2], scope).address());
        check(replay, (int) Library.REPLAY_OPEN.invokeExact(replay, program, captures, 1L, options.memory().address()));
      }
      final Trade[] trade = new Trade[1];
      final MemoryAddress takeField = callback((user, item) -> trade[0].take(item), scope);
      final MemoryAddress takeRecord = callback((user, record) -> {
        trade[0] = new Trade();
        return take(record, takeField, trade[0], sums);
      }, scope);
      check(replay, (int) Library.REPLAY_RUN.invokeExact(replay, takeRecord, MemoryAddress.NULL));
    }
    return sums;
  }

  /** Takes a message, or tells an event. */
  private static int take(MemoryAddress record, MemoryAddress takeField, Trade trade, TreeMap<String, Sum> sums) {
    try {
      final MemoryAddress event = (MemoryAddress) Library.RECORD_EVENT.invokeExact(record);
      if (!event.equals(MemoryAddress.NULL)) {
        final Struct shown = Struct.at(event, Library.EVENT);
        System.err.println("packet " + shown.big("packet") + ": " + shown.text("detail"));
        return 0;
      }
      final Struct header = Struct.at((MemoryAddress) Library.RECORD_HEADER.invokeExact(record), Library.HEADER);
      if (!header.text("template_name").equals("Trade")) return 0;
      if ((int) Library.RECORD_WALK.invokeExact(record, takeField, MemoryAddress.NULL) != Library.OK) {
        System.err.println("a record cannot be read");
        return 0;
      }
    } catch (Throwable problem) {
      System.err.println(problem);
      return 1;
    }
    final Sum sum = sums.computeIfAbsent(trade.symbol, symbol -> new Sum());
    ++sum.trades;
    sum.quantity += trade.quantity;
    sum.value += trade.price * trade.quantity;
    return 0;
  }

  private static void check(MemoryAddress replay, int status) throws Throwable {
    if (status == Library.OK) return;
    throw new IllegalArgumentException(CLinker.toJavaString((MemoryAddress) Library.REPLAY_ERROR.invokeExact(replay)));
  }

  public static void main(String[] arguments) throws Throwable {
    if (arguments.length != 2 && arguments.length != 3) {
      System.err.println("usage: Trades CAPTURE FEED.toml | CAPTURE TEMPLATES FRAMING");
      System.exit(1);
    }
    final MemoryAddress program = (MemoryAddress) Library.PROGRAM_NEW.invokeExact();
    final MemoryAddress replay = (MemoryAddress) Library.REPLAY_NEW.invokeExact();
    try {
      sumUp(program, replay, arguments).forEach((symbol, sum) -> System.out.printf(Locale.ROOT,
          "%-12s %6d trades %10d at %.4f%n", symbol, sum.trades, sum.quantity, sum.value / sum.quantity));
    } catch (IllegalArgumentException problem) {
      System.err.println(problem.getMessage());
      System.exit(1);
    } finally {
      Library.REPLAY_FREE.invokeExact(replay);
      Library.PROGRAM_FREE.invokeExact(program);
    }
  }
}
