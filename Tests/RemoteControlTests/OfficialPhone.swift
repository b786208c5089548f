import Base
import Glibc
import JSON
import Network
import Posix
import TestSupport

/// The official program as a phone: its commands confirm links and codes. Needs no relay without contacts.
final class OfficialPhone: Sendable {
    private final class Heard: WebSocketListener {
        let frames = Lock<[String]>([])

        func received(_ message: [UInt8]) {
            let text = String(decoding: message, as: UTF8.self)
            frames.withLock { $0.append(text) }
        }

        func ended(_ error: NetworkError) {}
    }

    private let folder: TemporaryFolder
    let program: RunningProcess
    private let socket: WebSocketClient
    private let heard: Heard
    private let count = Lock(0)
    private let options: [String]

    /// - Parameters:
    ///   - options: More options of the program.
    ///   - ended: The same phone before its program ended; nil for a new one.
    init(
        _ name: String = "bob", options: [String] = [], after ended: OfficialPhone? = nil
    ) async throws {
        folder = try ended?.folder ?? TemporaryFolder()
        let options = ended?.options ?? options
        self.options = options
        guard let port = LoopbackPort.unused() else { throw WaitedInVain("no port is free") }
        if ended == nil { try await Self.makeProfile(name, in: folder) }
        var settings = ChildProcess.Settings(
            OfficialPrograms.path("simplex-chat"),
            [
                "-d", folder.path("db"), "-y", "-p", "\(port)", "--device-name", "Telephone",
                "--files-folder", folder.path("files"),
            ] + options)
        settings.environment = OfficialPrograms.environment
        let started = try await RunningProcess.start(settings)
        program = started
        let heard = Heard()
        self.heard = heard
        socket = try await wait(for: "the program listens") {
            guard started.isRunning else { throw WaitedInVain("it ended: \(started.errors)") }
            return try? await WebSocketClient.connect(
                to: Endpoint(host: "127.0.0.1", port: port), timeout: .seconds(20), listener: heard)
        }
    }

    deinit { program.send(SIGKILL) }

    private static func makeProfile(_ name: String, in folder: TemporaryFolder) async throws {
        _ = try folder.makeFolder("files")
        let made = try await Shell.script(
            #"printf '%s\n' "$NAME" | "$PROGRAM" -d "$DATABASE" -y -e /user -t 0"#,
            environment: OfficialPrograms.environment.merging([
                "NAME": name, "PROGRAM": OfficialPrograms.path("simplex-chat"), "DATABASE": folder.path("db"),
            ]) { $1 })
        guard made.succeeded else { throw WaitedInVain("/user: \(made.output)") }
    }

    /// Whether a file of the phone, complete or not, has at least a MiB.
    func hasLargeFile() async throws -> Bool {
        let found = try await Shell.script(
            #"find "$FOLDER" -type f -size +1023k ! -name 'db_*'"#, environment: ["FOLDER": folder.path])
        return !found.output.isEmpty
    }

    /// The path of a file in its folder of files.
    func path(of name: String) -> String { folder.path("files/" + name) }

    /// Whether it has a whole file of this size.
    func has(_ name: String, size: Int) -> Bool {
        var status = stat()
        return lstat(path(of: name), &status) == 0 && Int(status.st_size) == size
    }

    /// Returns the answer to a command.
    @discardableResult
    func command(_ text: String) async throws -> String {
        let number = count.withLock { count in
            count += 1
            return count
        }
        let mark = #""corrId":"test-\#(number)""#
        try socket.send(Array(#"{\#(mark),"cmd":\#(JSONText.string(text))}"#.utf8))
        return try await wait(for: "an answer to \(text.prefix(20))") {
            heard.frames.withLock { $0.first { $0.contains(mark) } }
        }
    }

    /// Becomes a contact of another one at the same relay.
    func meet(_ other: OfficialPhone) async throws {
        let invitation = try await command("/connect")
        guard let link = invitation.firstMatch(of: /"connFullLink":"([^"]+)"/)?.1 else {
            throw WaitedInVain("no invitation in \(invitation)")
        }
        try await other.command("/connect \(link)")
        for phone in [self, other] {
            try await wait(until: "they are contacts") {
                phone.heard.frames.withLock { frames in
                    frames.contains { $0.contains(#""type":"contactConnected""#) }
                }
            }
        }
    }

    /// Returns the session code that it shows after a command.
    func connect(_ link: String) async throws -> String {
        heard.frames.withLock { $0 = [] }
        let answer = try await command("/connect remote ctrl \(link)")
        guard !answer.contains("chatCmdError") else { throw Self.failure(answer) }
        return try await wait(for: "a code") {
            let frames = heard.frames.withLock { $0 }
            // The end of an earlier session may be told late.
            let ends = frames.filter {
                $0.contains(#""type":"remoteCtrlStopped""#)
                    && !$0.contains(#""rcsState":{"type":"connected""#)
            }
            if let stopped = ends.last {
                throw Self.failure(stopped)
            }
            return frames.compactMap { frame in
                JSONValue.parse(Array(frame.utf8))?["resp"]?["sessionCode"]?.string
            }.last
        }
    }

    /// The phone gave up by its own limits: 15 seconds for the connection, and as many from the person's yes to our
    /// greeting. On a machine that is busy with other work that happens to the unoptimised program.
    struct TooLate: Error {}

    /// Its user compares the code and says yes.
    /// - Throws: `TooLate`; `WaitedInVain` with what it says else.
    func verify(_ code: String) async throws {
        let answer = try await command("/verify remote ctrl \(code)")
        guard answer.contains("remoteCtrlConnected") else { throw Self.failure(answer) }
    }

    private static func failure(_ answer: String) -> any Error {
        answer.contains("timeout") ? TooLate() : WaitedInVain(answer)
    }
}
