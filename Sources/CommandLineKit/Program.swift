import Base
import Glibc
import Posix

/// Runs a program described by a table of commands.
public enum Program {
    /// Parses the process's arguments, runs the command and ends the process.
    ///
    /// The order matters. Until `begin` returns, the process has a single thread, so that a command may fork. Then the
    /// stop signals are blocked for all later threads. Only then is the first task created, which starts the Swift
    /// runtime's threads. The main thread waits for signals.
    /// - Parameter details: Additional lines of `--version --verbose`.
    public static func main(
        _ program: Command, version: String, details: () -> [String] = { [] }
    ) -> Never {
        // EPIPE reports a closed pipe in every command.
        signal(SIGPIPE, SIG_IGN)
        openStandardDescriptors()
        let stop = StopRequest()
        do throws(Parser.Failure) {
            let words = Array(CommandLine.arguments.dropFirst())
            switch try Parser.parse(words, of: program, stop: stop) {
            case .version(let isDetailed):
                let lines = ["\(program.name) \(version)"] + (isDetailed ? details() : [])
                Terminal.print(lines.joined(separator: "\n"))
            case .help(let path): Terminal.print(Help.text(for: path, width: Terminal.width()))
            case .run(let invocation): run(invocation)
            }
            leave(.success, program.name)
        } catch {
            refuse(error.error, path: error.path)
        }
    }

    /// Opens missing standard descriptors, so that later files do not get their numbers. Using them still fails.
    private static func openStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            // open(2) returns the lowest free number.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    private static func run(_ invocation: Invocation) -> Never {
        Terminal.configure(invocation.verbosity)
        let variable = invocation.path[0].uppercased().replacing("-", with: "_") + "_LOG"
        Log.configure(
            level: invocation.verbosity.logLevel(environment: getenv(variable).map { String(cString: $0) }))
        guard let begin = invocation.command.begin else { preconditionFailure("parsed, so it can run") }
        let work: Command.Run
        do {
            work = try begin(invocation)
        } catch {
            end(with: error, path: invocation.path)
        }
        if invocation.command.waitsForStop { Signals.prepare() }
        // The priority of the main thread would be user-initiated. Dispatch may not raise its threads to that one, and
        // writes so to the system's log.
        Task(priority: .medium) {
            do {
                try await work(invocation)
                leave(.success, invocation.path[0])
            } catch {
                end(with: error, path: invocation.path)
            }
        }
        while true {
            if invocation.command.waitsForStop {
                let signal = Signals.waitForStop()
                // A prompt for a password means that nothing has begun yet.
                if SilentTerminal.restore() { endProcess(by: signal) }
                invocation.stop.request(signal: signal)
            } else {
                pause()
            }
        }
    }

    /// Ends the process by the signal, as without a handler.
    private static func endProcess(by number: Int32) -> Never {
        signal(number, SIG_DFL)
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, number)
        raise(number)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        _exit(128 + number)
    }

    private static func end(with error: any Error, path: [String]) -> Never {
        switch error {
        case let code as ExitCode: leave(code, path[0])
        case let usage as UsageError: refuse(usage, path: path)
        default:
            let ending = error as? CodedEnding ?? CodedEnding(error, .failure)
            Terminal.complain("\(path[0]): \(sentence(of: ending.error))")
            if Terminal.verbosity >= .verbose { explain(ending.error) }
            leave(ending.code, path[0])
        }
    }

    /// Prints the causes of an error, nearest first.
    private static func explain(_ error: any Error) {
        for cause in error.withCauses.dropFirst() {
            Terminal.complain("    because: \(sentence(of: cause))")
        }
    }

    private static func refuse(_ error: UsageError, path: [String]) -> Never {
        let name = path.joined(separator: " ")
        let end = error.sentence.hasSuffix("?") || error.sentence.hasSuffix(".") ? "" : "."
        Terminal.complain("\(name): \(error.sentence)\(end) Try '\(name) --help'.")
        leave(.usage, path[0])
    }

    /// Ends the process without exit handlers: other threads are still closing connections, and OpenSSL's handler frees
    /// their memory (which crashed one command in a hundred).
    private static func leave(_ code: ExitCode, _ name: String) -> Never {
        fflush(nil)
        _ = SilentTerminal.restore()
        if code == .success, let failure = Terminal.outputFailure {
            Terminal.complain("\(name): \(failure.sentence)")
            _exit(ExitCode.failure.value)
        }
        _exit(code.value)
    }
}
