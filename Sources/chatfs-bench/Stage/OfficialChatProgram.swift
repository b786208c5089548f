import Base
import Network
import Posix
import Synchronization

/// A running `simplex-chat` with its own profile, and a client of it: the phone of a measure, or the core under a
/// mount.
final class OfficialChatProgram: Sendable {
    let name: String
    /// The folder of sent and received files.
    let files: String
    let port: UInt16
    private let socket: WebSocketClient
    private let heard: Heard
    private let count = Atomic(0)

    /// The required programs.
    static let programs = ["simplex-chat", "smp-server", "xftp-server"]

    /// Creates a profile that uses only these relays, and starts the program.
    static func start(
        _ name: String, _ programs: OfficialPrograms, messages: OfficialRelay, files: OfficialRelay,
        on stage: Stage
    ) async throws -> OfficialChatProgram {
        try await start(
            name, programs, after: ["/smp \(messages.address)", "/xftp \(files.address)"], on: stage)
    }

    /// Creates a profile, performs commands, and starts the program.
    static func start(
        _ name: String, _ programs: OfficialPrograms, after commands: [String], options: [String] = [],
        on stage: Stage
    ) async throws -> OfficialChatProgram {
        let program = programs.folder + "/simplex-chat"
        let database = try stage.makeFolder(name) + "/db"
        let folder = try stage.makeFolder(name + "-simplex-files")
        let incoming = try stage.makeFolder(name + "-simplex-incoming")
        for command in ["/user"] + commands {
            // At its first start it asks for a name.
            try await stage.run(
                "/bin/sh",
                ["-c", #"printf '%s\n' "$NAME" | "$PROGRAM" -d "$DATABASE" -y -e "$COMMAND" -t 0"#],
                environment: programs.environment.merging([
                    "NAME": name, "PROGRAM": program, "DATABASE": database, "COMMAND": command,
                ]) { $1 })
        }
        let port = try LocalPort.free()
        _ = try await stage.start(
            program,
            [
                "-d", database, "-y", "-p", "\(port)", "--files-folder", folder, "--temp-folder", incoming,
            ] + options, environment: programs.environment)
        try await stage.wait(for: "the official program") { LocalPort.isOpen(port) }
        let heard = Heard()
        let socket = try await WebSocketClient.connect(
            to: Endpoint(host: "127.0.0.1", port: port), timeout: .seconds(20), listener: heard)
        return OfficialChatProgram(name, files: folder, port: port, socket, heard)
    }

    private init(_ name: String, files: String, port: UInt16, _ socket: WebSocketClient, _ heard: Heard) {
        (self.name, self.files, self.port) = (name, files, port)
        (self.socket, self.heard) = (socket, heard)
    }

    /// Returns the core's answer to a command. A refusal fails the measure.
    @discardableResult
    func command(_ text: String, on stage: Stage) async throws -> String {
        let number = count.wrappingAdd(1, ordering: .relaxed).newValue
        let mark = #""corrId":"bench-\#(number)""#
        let quoted = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        try socket.send(Array(#"{\#(mark),"cmd":"\#(quoted)"}"#.utf8))
        var answer: String?
        try await stage.wait(for: "an answer of the official program") {
            answer = heard.first { $0.contains(mark) }
            return answer != nil
        }
        guard let answer, !answer.contains(#""type":"chatCmdError""#) else {
            throw BenchError(.failed, "The official program refused a command.")
        }
        return answer
    }

    /// Waits for an event of this type that contains `part`.
    func event(_ type: String, with part: String, on stage: Stage) async throws {
        try await stage.wait(for: "an event of the official program") {
            heard.first { $0.contains(#""type":"\#(type)""#) && $0.contains(part) } != nil
        }
    }

    /// Drops the output so far, so that later events are new ones.
    func forgetOutput() { heard.forget() }

    /// Returns the string of a member named `key` in the next event that has one.
    func string(_ key: String, on stage: Stage) async throws -> String {
        let beginning = "\"\(key)\":\""
        var found: String?
        try await stage.wait(for: "an event of the official program") {
            found = heard.first { $0.contains(beginning) }
            return found != nil
        }
        guard let found, let place = found.firstRange(of: beginning) else { return "" }
        return String(found[place.upperBound...].prefix { $0 != "\"" })
    }

    /// Returns a link for one person, full or short.
    func invitation(short: Bool, on stage: Stage) async throws -> String {
        let answer = try await command("/connect", on: stage)
        let key = short ? "connShortLink" : "connFullLink"
        guard let place = answer.firstRange(of: "\"\(key)\":\"") else {
            throw BenchError(.failed, "The official program made no link.")
        }
        return String(answer[place.upperBound...].prefix { $0 != "\"" })
    }

    /// Sends a file of `files` to the contact with this number.
    func send(_ file: String, to contact: Int64, on stage: Stage) async throws {
        try await command(
            "/_send @\(contact) json [{\"fileSource\":{\"filePath\":\"\(file)\"},"
                + "\"msgContent\":{\"type\":\"file\",\"text\":\"\"},\"mentions\":{}}]", on: stage)
    }

    /// Returns the program's number of a contact.
    func contact(named name: String, on stage: Stage) async throws -> Int64 {
        let chats = try await command("/_get chats 1 count=50", on: stage)
        for part in chats.split(separator: "\"contactId\":") {
            if part.prefix(while: { $0 != "{" }).contains("\"localDisplayName\":\"\(name)\""),
                let number = Int64(part.prefix { $0.isNumber })
            {
                return number
            }
        }
        throw BenchError(.failed, "The official program does not know who was connected.")
    }

    /// The program's output in order.
    private final class Heard: WebSocketListener {
        private let frames = Lock<[String]>([])

        func received(_ message: [UInt8]) {
            let text = String(decoding: message, as: UTF8.self)
            frames.withLock { $0.append(text) }
        }

        func ended(_ error: NetworkError) {}

        func forget() { frames.withLock { $0 = [] } }

        func first(where holds: (String) -> Bool) -> String? { frames.withLock { $0.first(where: holds) } }
    }
}
