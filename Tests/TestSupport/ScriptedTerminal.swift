import Glibc
import Posix

/// A program on its own terminal (pty(7)), whose scripted user waits for texts and answers.
public struct ScriptedTerminal {
    /// The action after a text was shown. Each text is searched after the previous one.
    public enum Step: Sendable {
        case wait(String)
        case type(String)
        /// Sent to the program itself.
        case signal(Int32)
    }

    public struct Outcome: Sendable {
        public let ending: ChildProcess.Ending
        /// The complete output.
        public let shown: String
        /// Whether the terminal echoed input at each step, and at the end.
        public let echoes: [Bool]
    }

    /// - Parameter limit: The time limit for everything.
    public static func run(
        _ program: String, _ arguments: [String], environment: [String: String?] = [:], _ steps: [Step],
        limit: Duration = .seconds(60)
    ) async throws -> Outcome {
        var words: [String] = []
        for step in steps {
            switch step {
            case .wait(let text): words += ["wait", text]
            case .type(let text): words += ["type", text]
            case .signal(let number): words += ["signal", "\(number)"]
            }
        }
        let outcome = try await Shell.run(
            "python3",
            ["-c", driver, "\(limit.components.seconds)", "\(steps.count)"] + words + [program] + arguments,
            environment: environment, limit: limit + .seconds(10))
        let lines = outcome.output.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false)
        guard outcome.succeeded, lines.count == 3, let code = Int32(lines[0]) else {
            throw WaitedInVain("\(outcome.output)\(outcome.errors)")
        }
        return Outcome(
            ending: code < 0 ? .signal(-code) : .code(code), shown: String(lines[2]),
            echoes: lines[1].map { $0 == "1" })
    }

    private static let driver = #"""
        import fcntl, os, select, subprocess, sys, termios, time
        end = time.monotonic() + int(sys.argv[1])
        count = int(sys.argv[2])
        steps = [(sys.argv[3 + 2 * i], sys.argv[4 + 2 * i]) for i in range(count)]
        words = sys.argv[3 + 2 * count:]
        # Both ends stay open here: the terminal outlives the program, as that of a shell does.
        master, slave = os.openpty()
        def begin():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, preexec_fn=begin, close_fds=True)
        shown, seen, echoes = b"", 0, []
        def read(wait):
            global shown
            if select.select([master], [], [], wait)[0]:
                shown += os.read(master, 65536)
                return True
            return False
        def echo():
            return "1" if termios.tcgetattr(slave)[3] & termios.ECHO else "0"
        for kind, text in steps:
            if kind == "wait":
                while shown.find(text.encode(), seen) < 0:
                    if time.monotonic() > end or (process.poll() is not None and not read(0.1)):
                        process.kill()
                        sys.exit("never shown: %r in %r" % (text, shown))
                    read(0.1)
                seen = shown.find(text.encode(), seen) + len(text.encode())
                continue
            echoes.append(echo())
            if kind == "type": os.write(master, text.encode())
            else: os.kill(process.pid, int(text))
        while process.poll() is None:
            if time.monotonic() > end:
                process.kill()
                sys.exit("never ended: %r" % shown)
            read(0.1)
        while read(0.1): pass
        echoes.append(echo())
        sys.stdout.write("%d\n%s\n%s" % (process.returncode, "".join(echoes), shown.decode("utf-8", "replace")))
        """#
}
