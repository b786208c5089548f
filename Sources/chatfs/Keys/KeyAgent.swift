import Base
import CommandLineKit
import Cryptography
import Desktop
import Glibc
import Posix

/// Starts the process that holds the key of a data directory (`KeyAgentProcess`).
enum KeyAgent {
    /// Holding time of a new key whose passphrase was just typed twice.
    static let afterMaking = Duration.seconds(900)

    /// Starts the agent and ends existing ones. Blocks until it listens.
    /// - Parameters:
    ///   - folder: Absolute path of the data directory.
    ///   - time: Whole seconds, at least one.
    /// - Throws: `SystemError` if it cannot start; `Refusal` if it does not listen.
    static func start(_ folder: String, key: SecretBytes, for time: Duration) throws {
        _ = KeyClient.lock(folder)
        var settings = ChildProcess.Settings.conversing(KeyAgentProcess.word)
        settings.arguments += [folder, "\(max(1, time.components.seconds))"]
        settings.output = .null
        // Applies to the forking process only; the agent has a session of its own.
        settings.parentDeathSignal = 0
        let child = try ChildProcess.startBlocking(settings)
        try key.withUnsafeBytes { (bytes) throws(SystemError) in try child.input?.send(bytes) }
        let end = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < end {
            if let ending = child.endingIfEnded() {
                guard ending == .code(0) else { break }
                return
            }
            usleep(2_000)
        }
        throw Refusal("The background process for the key could not be started.")
    }

    /// Formats the remaining time, such as `7 h 59 min`.
    static func words(seconds: Int64) -> String {
        let minutes = (seconds + 59) / 60
        if seconds < 60 { return "\(seconds) s" }
        let (hours, rest) = (minutes / 60, minutes % 60)
        if hours == 0 { return "\(minutes) min" }
        return rest == 0 ? "\(hours) h" : "\(hours) h \(rest) min"
    }
}
