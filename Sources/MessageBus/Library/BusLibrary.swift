import Base
import Glibc

/// The used part of libdbus-1, loaded at run time. Only child processes on a bus need it, and ChatFS works without. Its
/// C interface has been stable since version 1.2.
///
/// One thread. The caller releases messages that it created or popped.
public struct BusLibrary {
    public typealias Connection = OpaquePointer
    public typealias Message = OpaquePointer
    /// DBusMessageIter, allocated by the caller: 72 bytes on 64-bit machines.
    private typealias Iterator = UnsafeMutableRawPointer

    private typealias Text = UnsafePointer<CChar>
    private typealias Failure = UnsafeMutableRawPointer?

    private let openBus: @convention(c) (Int32, Failure) -> Connection?
    private let exitOnDisconnect: @convention(c) (Connection, UInt32) -> Void
    private let descriptorOf: @convention(c) (Connection, UnsafeMutablePointer<Int32>) -> UInt32
    private let readWrite: @convention(c) (Connection, Int32) -> UInt32
    private let hasOutput: @convention(c) (Connection) -> UInt32
    private let isOpen: @convention(c) (Connection) -> UInt32
    private let popMessage: @convention(c) (Connection) -> Message?
    private let sendMessage: @convention(c) (Connection, Message, UnsafeMutablePointer<UInt32>?) -> UInt32
    private let addMatch: @convention(c) (Connection, Text, Failure) -> Void
    private let makeCall: @convention(c) (Text, Text, Text, Text) -> Message?
    private let makeSignal: @convention(c) (Text, Text, Text) -> Message?
    private let setAutoStart: @convention(c) (Message, UInt32) -> Void
    private let drop: @convention(c) (Message) -> Void
    private let typeOf: @convention(c) (Message) -> Int32
    private let replySerial: @convention(c) (Message) -> UInt32
    private let senderOf: @convention(c) (Message) -> Text?
    private let pathOf: @convention(c) (Message) -> Text?
    private let isSignalNamed: @convention(c) (Message, Text, Text) -> UInt32
    private let beginAppending: @convention(c) (Message, Iterator) -> Void
    private let appendBasic: @convention(c) (Iterator, Int32, UnsafeRawPointer) -> UInt32
    private let openContainer: @convention(c) (Iterator, Int32, Text?, Iterator) -> UInt32
    private let closeContainer: @convention(c) (Iterator, Iterator) -> UInt32
    private let beginReading: @convention(c) (Message, Iterator) -> UInt32
    private let argumentType: @convention(c) (Iterator) -> Int32
    private let getBasic: @convention(c) (Iterator, UnsafeMutableRawPointer) -> Void
    private let advance: @convention(c) (Iterator) -> UInt32
    private let recurse: @convention(c) (Iterator, Iterator) -> Void

    /// Returns nil if libdbus is not installed.
    public init?() {
        guard let library = SharedLibrary("libdbus-1.so.3") else { return nil }
        do {
            openBus = try library.function("dbus_bus_get_private")
            exitOnDisconnect = try library.function("dbus_connection_set_exit_on_disconnect")
            descriptorOf = try library.function("dbus_connection_get_unix_fd")
            readWrite = try library.function("dbus_connection_read_write")
            self.hasOutput = try library.function("dbus_connection_has_messages_to_send")
            isOpen = try library.function("dbus_connection_get_is_connected")
            popMessage = try library.function("dbus_connection_pop_message")
            sendMessage = try library.function("dbus_connection_send")
            addMatch = try library.function("dbus_bus_add_match")
            makeCall = try library.function("dbus_message_new_method_call")
            makeSignal = try library.function("dbus_message_new_signal")
            setAutoStart = try library.function("dbus_message_set_auto_start")
            drop = try library.function("dbus_message_unref")
            typeOf = try library.function("dbus_message_get_type")
            replySerial = try library.function("dbus_message_get_reply_serial")
            senderOf = try library.function("dbus_message_get_sender")
            pathOf = try library.function("dbus_message_get_path")
            isSignalNamed = try library.function("dbus_message_is_signal")
            beginAppending = try library.function("dbus_message_iter_init_append")
            appendBasic = try library.function("dbus_message_iter_append_basic")
            openContainer = try library.function("dbus_message_iter_open_container")
            closeContainer = try library.function("dbus_message_iter_close_container")
            beginReading = try library.function("dbus_message_iter_init")
            argumentType = try library.function("dbus_message_iter_get_arg_type")
            getBasic = try library.function("dbus_message_iter_get_basic")
            advance = try library.function("dbus_message_iter_next")
            recurse = try library.function("dbus_message_iter_recurse")
        } catch {
            return nil
        }
    }

    // MARK: - The connection

    /// The session or system bus, with the values of DBusBusType.
    public enum Bus: Int32, Sendable {
        case session = 0
        case system = 1
    }

    /// Connects to a bus. Waits up to 25 seconds for its reply. Returns nil if there is no bus.
    public func connect(to bus: Bus) -> Connection? {
        guard let connection = openBus(bus.rawValue, nil) else { return nil }
        exitOnDisconnect(connection, 0)
        return connection
    }

    public func descriptor(of connection: Connection) -> Int32? {
        var descriptor: Int32 = -1
        return descriptorOf(connection, &descriptor) != 0 ? descriptor : nil
    }

    /// Reads and writes without waiting. Returns false if the bus closed the connection.
    public func exchange(_ connection: Connection) -> Bool {
        readWrite(connection, 0) != 0 && isOpen(connection) != 0
    }

    public func hasOutput(_ connection: Connection) -> Bool { hasOutput(connection) != 0 }

    public func next(_ connection: Connection) -> Message? { popMessage(connection) }

    /// Adds a match rule without waiting for a reply.
    public func match(_ rule: String, on connection: Connection) { addMatch(connection, rule, nil) }

    /// Adds values to a new message, sends it and releases it. Returns the serial that its reply will name, or nil if
    /// memory is exhausted.
    /// - Parameter message: nil if there was no memory for it.
    public func send(_ message: Message?, _ values: [BusValue], over connection: Connection) -> UInt32? {
        guard let message else { return nil }
        defer { release(message) }
        withIterator { iterator in
            beginAppending(message, iterator)
            for value in values { append(value, iterator) }
        }
        var serial: UInt32 = 0
        return sendMessage(connection, message, &serial) != 0 ? serial : nil
    }

    public func release(_ message: Message) { drop(message) }

    // MARK: - Messages

    /// - Parameter starts: Whether the bus may start the service.
    public func call(
        _ destination: String, _ path: String, _ interface: String, _ method: String, starts: Bool = true
    ) -> Message? {
        let message = makeCall(destination, path, interface, method)
        if let message { setAutoStart(message, starts ? 1 : 0) }
        return message
    }

    public func signal(_ path: String, _ interface: String, _ name: String) -> Message? {
        makeSignal(path, interface, name)
    }

    /// Returns a reply's serial and whether it is an error. Returns nil for other messages.
    public func reply(_ message: Message) -> (serial: UInt32, isError: Bool)? {
        switch typeOf(message) {
        case 2: (replySerial(message), false)
        case 3: (replySerial(message), true)
        default: nil
        }
    }

    public func isSignal(_ message: Message, _ interface: String, _ name: String) -> Bool {
        isSignalNamed(message, interface, name) != 0
    }

    public func sender(_ message: Message) -> String? { senderOf(message).map { String(cString: $0) } }

    /// Returns the path of the object that sent a signal.
    public func path(_ message: Message) -> String? { pathOf(message).map { String(cString: $0) } }

    // MARK: - Writing

    private func append(_ value: BusValue, _ iterator: Iterator) {
        switch value {
        case .text(let text):
            text.withCString { pointer in
                withUnsafePointer(to: pointer) { _ = appendBasic(iterator, BusValue.textType, $0) }
            }
        case .number(let number):
            withUnsafePointer(to: number) { _ = appendBasic(iterator, BusValue.numberType, $0) }
        case .integer(let number):
            withUnsafePointer(to: number) { _ = appendBasic(iterator, BusValue.integerType, $0) }
        case .long(let number):
            withUnsafePointer(to: number) { _ = appendBasic(iterator, BusValue.longType, $0) }
        case .byte(let byte): withUnsafePointer(to: byte) { _ = appendBasic(iterator, BusValue.byteType, $0) }
        case .flag(let flag):
            withUnsafePointer(to: UInt32(flag ? 1 : 0)) { _ = appendBasic(iterator, BusValue.flagType, $0) }
        case .texts(let texts):
            nested(BusValue.arrayType, "s", iterator) { inner in
                for text in texts { append(.text(text), inner) }
            }
        case .hints(let hints):
            nested(BusValue.arrayType, "{sv}", iterator) { array in
                for (name, value) in hints {
                    nested(BusValue.entryType, nil, array) { entry in
                        append(.text(name), entry)
                        nested(BusValue.variantType, value.signature, entry) { append(value, $0) }
                    }
                }
            }
        case .picture(let width, let height, let pixels):
            nested(BusValue.structureType, nil, iterator) { inner in
                for number in [width, height, 3 * width] { append(.integer(number), inner) }
                append(.flag(false), inner)
                for number in [8, 3] as [Int32] { append(.integer(number), inner) }
                nested(BusValue.arrayType, "y", inner) { bytes in
                    for byte in pixels { append(.byte(byte), bytes) }
                }
            }
        case .descriptor(let descriptor):
            withUnsafePointer(to: descriptor) { _ = appendBasic(iterator, BusValue.descriptorType, $0) }
        }
    }

    private func nested(
        _ type: Int32, _ signature: String?, _ iterator: Iterator, _ body: (Iterator) -> Void
    ) {
        withIterator { inner in
            let isOpen =
                signature.map { $0.withCString { openContainer(iterator, type, $0, inner) } }
                ?? openContainer(iterator, type, nil, inner)
            guard isOpen != 0 else { return }
            body(inner)
            _ = closeContainer(iterator, inner)
        }
    }

    // MARK: - Reading

    /// Returns the numbers, flags and texts among the arguments, in order, including those in variants.
    public func arguments(of message: Message) -> [BusValue] {
        withIterator { iterator in
            beginReading(message, iterator) != 0 ? values(iterator) : []
        }
    }

    /// Returns the file descriptor in the first argument, which the caller closes, or nil for other arguments.
    public func descriptor(in message: Message) -> Int32? {
        withIterator { iterator in
            guard beginReading(message, iterator) != 0, argumentType(iterator) == BusValue.descriptorType
            else {
                return nil
            }
            var descriptor: Int32 = -1
            withUnsafeMutablePointer(to: &descriptor) { getBasic(iterator, $0) }
            return descriptor >= 0 ? descriptor : nil
        }
    }

    private func values(_ iterator: Iterator) -> [BusValue] {
        var values: [BusValue] = []
        repeat {
            switch argumentType(iterator) {
            case BusValue.textType:
                var pointer: UnsafePointer<CChar>?
                withUnsafeMutablePointer(to: &pointer) { getBasic(iterator, $0) }
                values.append(.text(pointer.map { String(cString: $0) } ?? ""))
            case BusValue.numberType:
                var number: UInt32 = 0
                withUnsafeMutablePointer(to: &number) { getBasic(iterator, $0) }
                values.append(.number(number))
            case BusValue.flagType:
                var flag: UInt32 = 0
                withUnsafeMutablePointer(to: &flag) { getBasic(iterator, $0) }
                values.append(.flag(flag != 0))
            case BusValue.variantType:
                values += withIterator { inner in
                    recurse(iterator, inner)
                    return self.values(inner)
                }
            case BusValue.arrayType:
                let inner = withIterator { inner in
                    recurse(iterator, inner)
                    return self.values(inner)
                }
                values.append(.texts(inner.compactMap { if case .text(let text) = $0 { text } else { nil } }))
            default: break
            }
        } while advance(iterator) != 0
        return values
    }

    private func withIterator<Result>(_ body: (Iterator) -> Result) -> Result {
        let iterator = UnsafeMutableRawPointer.allocate(byteCount: 128, alignment: 16)
        defer { iterator.deallocate() }
        return body(iterator)
    }
}
