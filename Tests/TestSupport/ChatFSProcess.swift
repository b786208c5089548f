import Glibc
import Posix

/// The built `chatfs` as a child process. A process must never touch its own mount, because it would wait for itself,
/// so tests of the program and of mounts use a process of its own.
public enum ChatFSProcess {
    /// The program next to the test bundle, of the same `swift build --build-tests`.
    public static let path: String = {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        let bundle = String(
            decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return bundle.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 } + "/chatfs"
    }()

    /// Tests must not touch the user's thumbnails.
    private static let cache: [String: String?] = [
        "XDG_CACHE_HOME": (getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp")
            + "/chatfs-test-cache-\(geteuid())"
    ]

    /// Nor the user's desktop, runtime folder and configuration.
    private static let surroundings: [String: String?] = [
        "COLUMNS": "80", "SWIFT_BACKTRACE": "enable=no", "DBUS_SESSION_BUS_ADDRESS": nil,
        "XDG_RUNTIME_DIR": nil, "XDG_CONFIG_HOME": "/nonexistent",
    ]

    /// Data of tests is encrypted: a credential, as from systemd, unlocks it for every process.
    public static let credentials: String = {
        var template = Array(
            ((getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp") + "/chatfs-credentials-XXXXXX")
                .utf8CString)
        let path = template.withUnsafeMutableBufferPointer { String(cString: mkdtemp($0.baseAddress!)) }
        let file = try? OpenFile(path + "/chatfs.key", flags: O_WRONLY | O_CREAT, mode: 0o600)
        try? file?.write(key, at: 0)
        atexit { ChatFSProcess.removeCredentials() }
        return path
    }()

    /// Equal for all processes of a test, because one may continue another's work.
    public static let key = [UInt8]((0..<32).map { $0 &* 7 &+ 1 })

    private static func removeCredentials() {
        unlink(credentials + "/chatfs.key")
        rmdir(credentials)
    }

    /// Starts `chatfs` with these arguments. Its terminal, cache, data folder and runtime folder are never the user's
    /// own: pass `--data`, or HOME and the XDG variables, in `environment`.
    public static func start(
        _ arguments: [String], environment: [String: String?] = [:], folder: String? = nil,
        ignoredSignals: [Int32] = [], blockedSignals: [Int32] = []
    ) async throws -> RunningProcess {
        var settings = ChildProcess.Settings(path, arguments)
        settings.environment = surroundings.merging(["CREDENTIALS_DIRECTORY": credentials]) { $1 }
            .merging(environment) { $1 }
        if environment["HOME"] == nil, environment["XDG_CACHE_HOME"] == nil {
            settings.environment.merge(cache) { $1 }
        }
        settings.folder = folder
        settings.ignoredSignals = ignoredSignals
        settings.blockedSignals = blockedSignals
        return try await RunningProcess.start(settings)
    }

    /// Runs it to its end. The limit ends hopeless tests: commands of a tenth of a second take much longer on a busy
    /// machine.
    public static func run(
        _ arguments: [String], environment: [String: String?] = [:], folder: String? = nil,
        limit: Duration = .seconds(180)
    ) async throws -> Shell.Outcome {
        let process = try await start(arguments, environment: environment, folder: folder)
        let ending = try await process.ending(within: limit)
        return Shell.Outcome(ending: ending, output: process.output, errors: process.errors)
    }
}
