import Base
import Glibc
import Posix
import TestSupport
import Testing

/// A mount of `chatfs phone` with its data.
final class PhoneMountPlace {
    let folder: TemporaryFolder
    private(set) var daemon: RunningProcess?
    private var links = 0
    private let dataFolder: String

    /// - Parameter other: A place on the same computer, whose data directory is used.
    init(beside other: PhoneMountPlace? = nil) throws {
        folder = try TemporaryFolder()
        dataFolder = other?.dataFolder ?? folder.path("data")
    }

    deinit {
        daemon?.send(SIGKILL)
        Unmounting.detach(folder.path("Phone"))
    }

    var environment: [String: String?] { ["HOME": folder.path] }

    private var data: [String] { ["--data", dataFolder] }

    /// - Parameters:
    ///   - listen: The listening address. A mount announces its links unless it begins with `127.`.
    ///   - core: The value of `--core` of `chatfs mount`; nil for `chatfs phone`.
    ///   - shell: A line of sh(1) that runs its arguments, or nil.
    func mount(
        _ more: [String] = [], listen: String = "127.0.0.1", core: String? = nil, shell: String? = nil
    ) async throws {
        links = 0
        let arguments =
            (core.map { ["mount", "--core", $0] } ?? ["phone"])
            + [folder.path("Phone"), "--listen", listen, "--cache-dir", folder.path("cache")]
            + data + more
        guard let shell else {
            daemon = try await ChatFSProcess.start(arguments, environment: environment)
            return
        }
        var settings = ChildProcess.Settings("/bin/sh", ["-c", shell, ChatFSProcess.path] + arguments)
        settings.environment = environment.merging(["XDG_CONFIG_HOME": "/nonexistent"]) { $1 }
        daemon = try await RunningProcess.start(settings)
    }

    func link() async throws -> String {
        let known = links
        let daemon = try #require(daemon)
        let found = try await wait(for: "a link") {
            let all = daemon.lines.filter { $0.hasPrefix("xrcp:/") }
            return all.count > known ? all.last : nil
        }
        links += 1
        return found
    }

    func waitUntilMounted() async throws {
        try await daemon?.line("that it is mounted") { $0.contains("is mounted at") }
    }

    func leave() async throws {
        daemon?.send(SIGTERM)
        try await daemon?.ending(within: .seconds(60))
        daemon = nil
    }

    /// - Parameter isWithData: False for commands without `--data`.
    func run(_ words: [String], isWithData: Bool = true) async throws -> Shell.Outcome {
        try await ChatFSProcess.run(words + (isWithData ? data : []), environment: environment)
    }

    /// Waits for the end of a killed mount, and removes it.
    func waitUntilKilled() async throws {
        try await daemon?.ending(within: .seconds(60))
        daemon = nil
        Unmounting.detach(folder.path("Phone"))
    }

    func state(_ name: String) throws -> String {
        try ExtendedAttribute.text("user.chatfs.state", of: folder.path("Phone/bob/" + name)) ?? ""
    }

    /// The states of all entries of the chat.
    func states() throws -> Set<String> {
        Set(try folder.names(in: "Phone/bob").filter { !$0.hasPrefix(".") }.compactMap { try? state($0) })
    }

    /// The bytes of an entry, read by another process.
    func bytes(_ name: String) async throws -> [UInt8] {
        let copy = folder.path("copy")
        let copied = try await Shell.script(
            #"cat "$FILE" > "$COPY""#, environment: ["FILE": folder.path("Phone/" + name), "COPY": copy])
        guard copied.succeeded else { throw WaitedInVain("\(name): \(copied.errors)") }
        return try folder.read("copy")
    }

    /// The content of an entry, read by another process; nil where it fails.
    func content(_ name: String) async throws -> Shell.Outcome {
        try await Shell.script(#"cat "$FILE""#, environment: ["FILE": folder.path("Phone/" + name)])
    }
}
