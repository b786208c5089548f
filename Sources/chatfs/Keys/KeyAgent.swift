import Base
import CommandLineKit
import Cryptography
import Desktop
import Glibc
import Posix

/// Starts the process that holds the key of a data directory (`KeyAgentProcess`).
enum KeyAgent {
    /// For how long the key stays that was made for a passphrase which has just been typed twice.
    static let afterMaking = Duration.seconds(900)

    /// Starts it, and has agents that are there already end. Blocks until it listens.
    /// - Parameters:
    ///   - folder: the data directory. Absolute.
    ///   - time: whole seconds, at least one.
    /// - Throws: `SystemError` where it cannot be started; `Refusal` where it does not come to listen.
    static func start(_ folder: String, key: SecretBytes, for time: Duration) throws {
        _ = KeyClient.lock(folder)
        var settings = ChildProcess.Settings.conversing(KeyAgentProcess.word)
        settings.arguments += [folder, "\(max(1, time.components.seconds))"]
        settings.output = .null
        // Only the process that forks; the agent has a session of its own.
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
        throw Refusal("The process that would hold the key could not be started.")
    }

    /// The time that is left, for people: `7 h 59 min`.
    static func words(seconds: Int64) -> String {
        let minutes = (seconds + 59) / 60
        if seconds < 60 { return "\(seconds) s" }
        let (hours, rest) = (minutes / 60, minutes % 60)
        if hours == 0 { return "\(minutes) min" }
        return rest == 0 ? "\(hours) h" : "\(hours) h \(rest) min"
    }
}
