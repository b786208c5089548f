import Base
import CommandLineKit
import Cryptography
import Desktop
import Glibc
import MessageBus
import Posix

/// The agent of `chatfs unlock`. It runs this program, started by `KeyAgent`, and holds the key of a data directory in
/// locked memory behind a socket. It ends when it forgets the key: at `chatfs lock`, after its time, before sleep, when
/// the session is locked, or when the data directory is gone (`KeyHolding`).
enum KeyAgentProcess {
    /// First argument that selects this process.
    static let word = "hold-key"
    /// Maximum interval between checks of the data directory and the clock.
    private static let pause = Duration.seconds(20)

    /// Runs the agent. The key comes through standard input after the fork, because locked memory is not inherited.
    /// - Parameter arguments: The data directory and the time in seconds.
    static func main(_ arguments: [String]) -> Never {
        ProcessHardening.apply()
        signal(SIGPIPE, SIG_IGN)
        guard arguments.count == 2, let seconds = Int64(arguments[1]), seconds > 0,
            let background = try? Background.start(), let key = key()
        else { _exit(64) }
        _ = ProcessHardening.confineDaemon()
        let folder = arguments[0]
        let now = SystemBootClock().reading().nanoseconds
        let (length, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let holding = KeyHolding(.agent, until: overflow ? .max : now &+ min(length, .max - now))
        guard let wakeUp = try? WakeUp(),
            let server = try? KeyServer(
                dataFolder: folder, key: key, holding: holding, whenForgotten: { wakeUp.notify() }),
            (try? background.ready()) != nil
        else { _exit(1) }
        listen(server)
        serve(server, in: folder, wakeUp)
    }

    /// Reads 32 bytes into locked memory only.
    private static func key() -> SecretBytes? {
        let key = SecretBytes(upTo: 32) { (memory: UnsafeMutableRawBufferPointer) -> Int in
            var filled = 0
            while filled < memory.count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: memory[filled...])
                let count = read(STDIN_FILENO, rest.baseAddress, rest.count)
                guard count > 0 else { break }
                filled += count
            }
            return filled
        }
        return key.count == 32 ? key : nil
    }

    /// Subscribes to sleep and session locks if there is a system bus.
    private static func listen(_ server: KeyServer) {
        guard let system = try? SystemWatch() else { return }
        let notices = system.notices()
        Task {
            await ThreadPool.shared.run { system.start() }
            for await notice in notices {
                switch notice {
                case .sleeping: if server.take(.sleeping) { system.readyToSleep() }
                case .awake: server.take(.awake)
                case .sessionLocked: server.take(.sessionLocked)
                case .metered: break
                }
            }
        }
    }

    /// Serves until the key is forgotten. Without a bus, compares two clocks, of which one includes sleep.
    private static func serve(_ server: KeyServer, in folder: String, _ wakeUp: WakeUp) -> Never {
        var asleep = sleptTime()
        while true {
            let wait = min(server.remaining ?? pause, pause)
            var requests = [pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)]
            let isOver = poll(&requests, milliseconds: Int32(wait / .milliseconds(1)) + 1) > 0
            if isOver { break }
            server.take(.looked)
            if access(folder + "/keys", F_OK) != 0 { server.take(.folderGone) }
            let slept = sleptTime()
            if slept - asleep > .seconds(1) { server.take(.awake) }
            asleep = slept
        }
        server.stop()
        // Lets the reply to `lock` be delivered.
        usleep(100_000)
        _exit(0)
    }

    private static func sleptTime() -> Duration {
        var (boot, monotonic) = (timespec(), timespec())
        clock_gettime(CLOCK_BOOTTIME, &boot)
        clock_gettime(CLOCK_MONOTONIC, &monotonic)
        return .seconds(boot.tv_sec - monotonic.tv_sec)
            + .nanoseconds(boot.tv_nsec - monotonic.tv_nsec)
    }
}
