import Base
import Glibc
import Network
import Posix

/// A WebSocket server for tests, written apart from the client it judges: blocking sockets, a thread for
/// each connection, on a port of its own. It answers commands as its script says and can misbehave.
final class ScriptedServer: Sendable {
    /// What the script does with one command: frames to send back, or nil to close the connection.
    typealias Script = @Sendable (_ command: String, _ correlation: String) -> [String]?

    private struct State {
        var connections: [Int32] = []
        var commands: [String] = []
        var isClosed = false
    }

    let port: UInt16
    private let listener: Int32
    private let script: Script
    private let state = Lock(State())

    var endpoint: Endpoint { Endpoint(host: "127.0.0.1", port: port) }
    var commands: [String] { state.withLock { $0.commands } }
    var connectionCount: Int { state.withLock { $0.connections.count } }

    init(port wanted: UInt16 = 0, script: @escaping Script) throws {
        let descriptor = try check("make a socket") { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, 4)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = wanted.bigEndian
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

    /// Answers `/version` itself and everything else by `answers`.
    static func core(
        port: UInt16 = 0, _ answer: @escaping @Sendable (String) -> String
    ) throws -> ScriptedServer {
        try ScriptedServer(port: port) { command, correlation in
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
            let isClosed = state.withLock { state in
                if !state.isClosed { state.connections.append(connection) }
                return state.isClosed
            }
            guard !isClosed else {
                Glibc.close(connection)
                return
            }
            Thread.start("script-connection") { self.serve(connection) }
        }
    }

    /// Sends an event to one connection: the core never sends it to more.
    func tell(_ json: String, connection index: Int = 0) {
        let connection = state.withLock {
            $0.connections.indices.contains(index) ? $0.connections[index] : nil
        }
        if let connection { Self.send(Self.frame(1, Array(json.utf8)), connection) }
    }

    /// Sends these very bytes.
    func tellRaw(_ bytes: [UInt8], connection index: Int = 0) {
        let connection = state.withLock {
            $0.connections.indices.contains(index) ? $0.connections[index] : nil
        }
        if let connection { Self.send(bytes, connection) }
    }

    /// Breaks all connections without a word.
    func breakConnections() {
        for connection in state.withLock({ $0.connections }) { shutdown(connection, Int32(SHUT_RDWR)) }
    }

    func close() {
        state.withLock { $0.isClosed = true }
        shutdown(listener, Int32(SHUT_RDWR))
        Glibc.close(listener)
        breakConnections()
    }

    // MARK: One connection

    private func serve(_ connection: Int32) {
        defer {
            state.withLock { $0.connections.removeAll { $0 == connection } }
            Glibc.close(connection)
        }
        guard let key = Self.readKey(connection) else { return }
        let answer =
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: \(SHA1Reference.acceptance(key))\r\n\r\n"
        Self.send(Array(answer.utf8), connection)
        while let (opcode, payload) = Self.readFrame(connection) {
            if opcode == 8 {
                Self.send(Self.frame(8, payload), connection)
                return
            }
            guard opcode == 1 else { continue }
            let text = String(decoding: payload, as: UTF8.self)
            guard let (correlation, command) = Self.parse(text) else { continue }
            state.withLock { $0.commands.append(command) }
            guard let frames = script(command, correlation) else { return }
            for frame in frames { Self.send(Self.frame(1, Array(frame.utf8)), connection) }
        }
    }

    /// The two members as the client writes them; commands with escapes are unescaped by hand.
    private static func parse(_ text: String) -> (String, String)? {
        guard let match = text.wholeMatch(of: /\{"corrId":"([0-9]+)","cmd":"(.*)"\}/) else { return nil }
        let command = match.2.replacing("\\\"", with: "\"").replacing("\\\\", with: "\\")
        return (String(match.1), String(command))
    }

    static func frame(_ opcode: UInt8, _ payload: [UInt8], final: Bool = true) -> [UInt8] {
        var bytes: [UInt8] = [(final ? 0x80 : 0) | opcode]
        if payload.count < 126 {
            bytes.append(UInt8(payload.count))
        } else if payload.count < 65_536 {
            bytes += [126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
        } else {
            bytes.append(127)
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: payload.count >> shift))
            }
        }
        return bytes + payload
    }

    private static func send(_ bytes: [UInt8], _ connection: Int32) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }

    private static func read(_ connection: Int32, _ count: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: max(1, min(count, 65_536)))
        while bytes.count < count {
            let got = recv(connection, &buffer, min(buffer.count, count - bytes.count), 0)
            guard got > 0 else { return nil }
            bytes += buffer.prefix(got)
        }
        return bytes
    }

    private static func readKey(_ connection: Int32) -> String? {
        var header: [UInt8] = []
        while !header.suffix(4).elementsEqual(Array("\r\n\r\n".utf8)) {
            guard header.count < 8192, let byte = read(connection, 1) else { return nil }
            header += byte
        }
        let text = String(decoding: header, as: UTF8.self)
        let line = text.split(separator: "\r\n").first { $0.hasPrefix("Sec-WebSocket-Key: ") }
        return line.map { String($0.dropFirst(19)) }
    }

    private static func readFrame(_ connection: Int32) -> (UInt8, [UInt8])? {
        guard let head = read(connection, 2), head[1] & 0x80 != 0 else { return nil }
        var length = Int(head[1] & 0x7F)
        if length >= 126 {
            guard let extended = read(connection, length == 126 ? 2 : 8) else { return nil }
            length = extended.reduce(0) { $0 << 8 | Int($1) }
        }
        guard let mask = read(connection, 4), let payload = read(connection, length) else { return nil }
        return (head[0] & 15, payload.enumerated().map { $1 ^ mask[$0 % 4] })
    }
}

/// SHA-1 by its definition (RFC 3174), for the one thing that still needs it.
enum SHA1Reference {
    static func acceptance(_ key: String) -> String {
        let digest = digest(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))
        return Base64URL.encode(digest).replacing("-", with: "+").replacing("_", with: "/")
    }

    static func digest(_ message: [UInt8]) -> [UInt8] {
        var padded = message + [0x80]
        while padded.count % 64 != 56 { padded.append(0) }
        for shift in stride(from: 56, through: 0, by: -8) {
            padded.append(UInt8(truncatingIfNeeded: (message.count * 8) >> shift))
        }
        var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
        let rotate: (UInt32, UInt32) -> UInt32 = { $0 << $1 | $0 >> (32 - $1) }
        for block in stride(from: 0, to: padded.count, by: 64) {
            var words = (0..<16).map { word in
                padded[(block + word * 4)..<(block + word * 4 + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            }
            for index in 16..<80 {
                words.append(
                    rotate(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], 1))
            }
            var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
            for index in 0..<80 {
                let (mix, constant): (UInt32, UInt32) =
                    switch index {
                    case ..<20: (b & c | ~b & d, 0x5A82_7999)
                    case ..<40: (b ^ c ^ d, 0x6ED9_EBA1)
                    case ..<60: (b & c | b & d | c & d, 0x8F1B_BCDC)
                    default: (b ^ c ^ d, 0xCA62_C1D6)
                    }
                let next = rotate(a, 5) &+ mix &+ e &+ constant &+ words[index]
                (a, b, c, d, e) = (next, a, rotate(b, 30), c, d)
            }
            for (index, value) in [a, b, c, d, e].enumerated() { state[index] &+= value }
        }
        return state.flatMap { word in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> $0) } }
    }
}
