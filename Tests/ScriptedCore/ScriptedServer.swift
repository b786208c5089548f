import Base
import Glibc
import Posix

/// A scripted WebSocket server on the loopback interface, independent of the tested client: blocking sockets, a thread
/// for each connection, its own port. It can misbehave.
public final class ScriptedServer: Sendable {
    /// Returns the frames for a command, or nil to close the connection.
    public typealias Script = @Sendable (_ command: String, _ correlation: String) -> [String]?

    private struct State {
        var connections: [Int32] = []
        var commands: [String] = []
        var isAway = false
        var isClosed = false
        /// The bytes to write before one disconnection, or nil for no limit.
        var bytesUntilBreak: Int?
    }

    public let port: UInt16
    private let listener: Int32
    private let script: Script
    private let state = Lock(State())
    /// Held while a frame is written, so that an event cannot split a long answer.
    private let writing = Lock((), rank: .collection)

    /// The received commands in order.
    public var commands: [String] { state.withLock { $0.commands } }
    public var connectionCount: Int { state.withLock { $0.connections.count } }

    /// - Throws: `SystemError` if there is no socket.
    public init(script: @escaping Script) throws {
        let descriptor = try check("make a socket") { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, 4)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                try check("bind") { bind(descriptor, address, length) }
                try check("listen") { listen(descriptor, 16) }
                try check("look at a socket") { getsockname(descriptor, address, &length) }
            }
        }
        listener = descriptor
        port = UInt16(bigEndian: address.sin_port)
        self.script = script
        Thread.start("script-accept") { self.accept() }
    }

    /// Serves a scripted core.
    /// - Throws: As with a script.
    public convenience init(_ simplex: ScriptedSimpleX) throws {
        try self.init { command, correlation in
            guard let response = simplex.answer(command) else { return [] }
            return [#"{"corrId":"\#(correlation)","resp":\#(response)}"#]
        }
        simplex.connect(
            tells: { [weak self] json in self?.tell(#"{"resp":\#(json)}"#) },
            breaks: { [weak self] in self?.breakConnections() })
    }

    /// Answers `/version` itself and other commands with `answer`.
    /// - Throws: As with a script.
    public static func core(
        _ answer: @escaping @Sendable (String) -> String
    ) throws -> ScriptedServer {
        try ScriptedServer { command, correlation in
            let response =
                command == "/version"
                ? #"{"type":"versionInfo","versionInfo":{"version":"6.4.5.1","simplexmqVersion":"6.4.5.2"}}"#
                : answer(command)
            return [#"{"corrId":"\#(correlation)","resp":\#(response)}"#]
        }
    }

    private func accept() {
        while true {
            let connection = Glibc.accept(listener, nil, nil)
            guard connection >= 0 else { return }
            let (isClosed, isAway) = state.withLock { state in
                if !state.isClosed, !state.isAway { state.connections.append(connection) }
                return (state.isClosed, state.isAway)
            }
            if isClosed || isAway { Glibc.close(connection) }
            if isClosed { return }
            if isAway { continue }
            Thread.start("script-connection") { self.serve(connection) }
        }
    }

    /// Sends an event to one connection, as the core does.
    public func tell(_ json: String, connection index: Int = 0) {
        let connection = state.withLock {
            $0.connections.indices.contains(index) ? $0.connections[index] : nil
        }
        if let connection { send(WebSocketFrames.frame(1, Array(json.utf8)), connection) }
    }

    /// Sends these bytes.
    public func tellRaw(_ bytes: [UInt8], connection index: Int = 0) {
        let connection = state.withLock {
            $0.connections.indices.contains(index) ? $0.connections[index] : nil
        }
        if let connection { send(bytes, connection) }
    }

    /// Simulates a stopped core: breaks connections and closes new ones before the handshake.
    public func setAway(_ isAway: Bool) {
        state.withLock { $0.isAway = isAway }
        if isAway { breakConnections() }
    }

    /// Disconnects once after `count` further bytes, on the connection that writes them.
    public func breakAfter(_ count: Int) { state.withLock { $0.bytesUntilBreak = count } }

    /// Breaks all connections without a close frame.
    public func breakConnections() {
        for connection in state.withLock({ $0.connections }) { shutdown(connection, Int32(SHUT_RDWR)) }
    }

    public func close() {
        state.withLock { $0.isClosed = true }
        shutdown(listener, Int32(SHUT_RDWR))
        Glibc.close(listener)
        breakConnections()
    }

    private func send(_ bytes: [UInt8], _ connection: Int32) {
        writing.withLock { _ in
            let allowed = state.withLock { state -> Int in
                guard let left = state.bytesUntilBreak else { return bytes.count }
                state.bytesUntilBreak = left >= bytes.count ? left - bytes.count : nil
                return min(left, bytes.count)
            }
            WebSocketFrames.send(Array(bytes.prefix(allowed)), connection)
            if allowed < bytes.count { shutdown(connection, Int32(SHUT_RDWR)) }
        }
    }

    // MARK: Connection

    private func serve(_ connection: Int32) {
        defer {
            state.withLock { $0.connections.removeAll { $0 == connection } }
            Glibc.close(connection)
        }
        guard let key = WebSocketFrames.readKey(connection) else { return }
        let answer =
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: \(WebSocketAcceptance.answer(key))\r\n\r\n"
        send(Array(answer.utf8), connection)
        while let (opcode, payload) = WebSocketFrames.readFrame(connection) {
            if opcode == 8 {
                send(WebSocketFrames.frame(8, payload), connection)
                return
            }
            guard opcode == 1 else { continue }
            let text = String(decoding: payload, as: UTF8.self)
            guard let (correlation, command) = Self.parse(text) else { continue }
            state.withLock { $0.commands.append(command) }
            guard let frames = script(command, correlation) else { return }
            for frame in frames { send(WebSocketFrames.frame(1, Array(frame.utf8)), connection) }
        }
    }

    /// The two members in the client's form; escapes in commands are decoded by hand.
    private static func parse(_ text: String) -> (String, String)? {
        guard let match = text.wholeMatch(of: /\{"corrId":"([0-9]+)","cmd":"(.*)"\}/) else { return nil }
        let command = match.2.replacing("\\\"", with: "\"").replacing("\\\\", with: "\\")
        return (String(match.1), String(command))
    }
}
