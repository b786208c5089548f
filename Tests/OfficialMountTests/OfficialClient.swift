import Base
import Network
import TestSupport

/// A client of a running `simplex-chat`. Answers and events are raw texts, so that tests do not depend on the
/// decoder under test.
final class OfficialClient: Sendable {
    private final class Heard: WebSocketListener {
        let frames = Lock<[String]>([])

        func received(_ message: [UInt8]) {
            let text = String(decoding: message, as: UTF8.self)
            frames.withLock { $0.append(text) }
        }

        func ended(_ error: NetworkError) {}
    }

    private let socket: WebSocketClient
    private let heard: Heard
    private let count = Lock(0)

    static func connect(port: UInt16) async throws -> OfficialClient {
        let heard = Heard()
        let socket = try await WebSocketClient.connect(
            to: Endpoint(host: "127.0.0.1", port: port), timeout: .seconds(20), listener: heard)
        return OfficialClient(socket, heard)
    }

    private init(_ socket: WebSocketClient, _ heard: Heard) {
        self.socket = socket
        self.heard = heard
    }

    /// Runs a command; a refusal fails the test.
    @discardableResult
    func command(_ text: String) async throws -> String {
        let number = count.withLock { count in
            count += 1
            return count
        }
        let mark = #""corrId":"test-\#(number)""#
        try socket.send(Array(#"{\#(mark),"cmd":\#(Self.quoted(text))}"#.utf8))
        let answer = try await wait(for: "an answer to \(text.prefix(20))", within: .seconds(60)) {
            heard.frames.withLock { $0.first { $0.contains(mark) } }
        }
        guard !answer.contains(#""type":"chatCmdError""#) else {
            throw WaitedInVain("\(text) was refused: \(answer)")
        }
        return answer
    }

    /// The first event of a type that contains `part`.
    @discardableResult
    func event(
        _ type: String, with part: String = "", within limit: Duration = .seconds(60)
    ) async throws -> String {
        try await wait(for: "the event \(type)", within: limit) {
            heard.frames.withLock { frames in
                frames.first {
                    $0.contains(#""type":"\#(type)""#) && $0.contains(part)
                        && !$0.contains(#""corrId":"test-"#)
                }
            }
        }
    }

    /// The core's number of a contact or group by name. `key` is `contactId` or `groupId`.
    func chat(_ key: String, named name: String) async throws -> Int64 {
        let chats = try await command("/_get chats 1 count=50")
        let parts = chats.split(separator: "\"\(key)\":")
        guard
            let part = parts.first(where: {
                $0.prefix { $0 != "{" }.contains("\"localDisplayName\":\"\(name)\"")
            }), let number = Int64(part.prefix { $0.isNumber })
        else { throw WaitedInVain("there is no \(name) in \(chats)") }
        return number
    }

    /// The number of received events of a type.
    func count(of type: String) -> Int {
        heard.frames.withLock { frames in frames.count { $0.contains(#""type":"\#(type)""#) } }
    }

    func close() { socket.close() }

    /// The first number after `"key":` in a JSON text.
    static func number(_ key: String, in text: String) throws -> Int64 {
        guard let place = text.firstRange(of: "\"\(key)\":"),
            let number = Int64(text[place.upperBound...].prefix { $0.isNumber })
        else { throw WaitedInVain("there is no \(key) in \(text)") }
        return number
    }

    /// The first string after `"key":` in a JSON text.
    static func text(_ key: String, in text: String) throws -> String {
        guard let place = text.firstRange(of: "\"\(key)\":\"") else {
            throw WaitedInVain("there is no \(key) in \(text)")
        }
        return String(text[place.upperBound...].prefix { $0 != "\"" })
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
