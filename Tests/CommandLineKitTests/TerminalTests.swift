import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import CommandLineKit

/// Each in its own process, whose streams and environment change.
@Suite("Terminal output")
struct TerminalTests {
    @Test("without terminal COLUMNS sets the width")
    func width() async {
        await #expect(processExitsWith: .success) {
            let null = try OpenFile("/dev/null", flags: O_RDWR)
            func width(_ columns: String?) -> Int {
                if let columns { setenv("COLUMNS", columns, 1) } else { unsetenv("COLUMNS") }
                return Terminal.width(of: null.descriptor)
            }
            precondition(width(nil) == 80)
            precondition(width("") == 80 && width("wide") == 80 && width("0") == 80 && width("-5") == 80)
            precondition(width("39") == 40 && width("40") == 40 && width("41") == 41)
            precondition(width("1000") == 1000 && width("1001") == 1000)
            precondition(!Terminal.isTerminal(null.descriptor) && !Terminal.canRedraw(null.descriptor))
        }
    }

    @Test(
        "dumb terminals get plain lines")
    func dumb() async throws {
        await #expect(processExitsWith: .success) {
            let main = try OpenFile("/dev/ptmx", flags: O_RDWR | O_NOCTTY)
            // TIOCSPTLCK and TIOCGPTN, macros invisible to Swift.
            var (isLocked, number) = (Int32(0), UInt32(0))
            try check("open a terminal") { ioctl(main.descriptor, 0x4004_5431, &isLocked) }
            try check("open a terminal") { ioctl(main.descriptor, 0x8004_5430, &number) }
            let terminal = try OpenFile("/dev/pts/\(number)", flags: O_RDWR | O_NOCTTY)
            func shown(_ type: String?) throws -> String {
                if let type { setenv("TERM", type, 1) } else { unsetenv("TERM") }
                precondition(Terminal.canRedraw(terminal.descriptor) == (type == "xterm"))
                let display = ProgressDisplay("Sending", descriptor: terminal.descriptor)
                display.update(done: 50, total: 100)
                display.finish()
                var buffer = [UInt8](repeating: 0, count: 4096)
                let count = try check("read") { read(main.descriptor, &buffer, buffer.count) }
                return String(decoding: buffer.prefix(count), as: UTF8.self)
            }
            setenv("LC_ALL", "C.UTF-8", 1)
            for type in ["dumb", "", nil] {
                let text = try shown(type)
                precondition(text.hasPrefix("Sending: 50%") && text.hasSuffix("\r\n"))
                precondition(!text.contains("\u{1B}") && !text.contains("█"))
            }
            let drawn = try shown("xterm")
            precondition(drawn.hasPrefix("\r\u{1B}[K") && drawn.contains("█"))
        }
    }

    @Test("the first nonempty variable sets the character set")
    func locale() async {
        await #expect(processExitsWith: .success) {
            func isUnicode(_ all: String?, _ type: String?, _ language: String?) -> Bool {
                for (name, value) in [("LC_ALL", all), ("LC_CTYPE", type), ("LANG", language)] {
                    if let value { setenv(name, value, 1) } else { unsetenv(name) }
                }
                return Terminal.isUnicode
            }
            precondition(!isUnicode(nil, nil, nil))
            precondition(isUnicode(nil, nil, "de_DE.UTF-8") && isUnicode(nil, nil, "C.utf8"))
            precondition(isUnicode(nil, nil, "ca_ES.UTF-8@valencia"))
            precondition(!isUnicode("C", nil, "de_DE.UTF-8") && !isUnicode(nil, "POSIX", "de_DE.UTF-8"))
            precondition(isUnicode("", "", "de_DE.UTF-8") && isUnicode("en.UTF-8", "C", "C"))
            precondition(!isUnicode(nil, nil, "de_DE.ISO-8859-1"))
        }
    }

    @Test("each print and complaint is one line")
    func lines() async throws {
        let folder = try TemporaryFolder()
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            let output = try OpenFile(path + "/output", flags: O_WRONLY | O_CREAT)
            let errors = try OpenFile(path + "/errors", flags: O_WRONLY | O_CREAT)
            dup2(output.descriptor, STDOUT_FILENO)
            dup2(errors.descriptor, STDERR_FILENO)
            Terminal.print("one … two")
            try Terminal.deliver("the key")
            Terminal.complain("a\nb\u{1B}[2J")
            Terminal.note("noted")
            Terminal.configure(.quiet)
            Terminal.note("not noted")
            Terminal.complain("said all the same")
            precondition(Terminal.outputFailure == nil)
            // At once, because the end of an exit test writes to its streams.
            _exit(0)
        }
        #expect(String(decoding: try folder.read("output"), as: UTF8.self) == "one … two\nthe key\n")
        #expect(
            String(decoding: try folder.read("errors"), as: UTF8.self)
                == "a\\u{a}b\\u{1b}[2J\nnoted\nsaid all the same\n")
    }

    @Test("the first write error is remembered")
    func full() async {
        await #expect(processExitsWith: .success) {
            let full = try OpenFile("/dev/full", flags: O_WRONLY)
            dup2(full.descriptor, STDOUT_FILENO)
            Terminal.write("nobody reads this", to: full.descriptor)
            precondition(Terminal.outputFailure == nil, "only standard output counts")
            do throws(SystemError) {
                try Terminal.deliver("the only key")
                preconditionFailure("it was taken")
            } catch {
                precondition(error == SystemError(code: ENOSPC, operation: "write to standard output"))
            }
            Terminal.print("lost")
            precondition(Terminal.outputFailure?.code == ENOSPC)
            dup2(try OpenFile("/dev/null", flags: O_RDONLY).descriptor, STDOUT_FILENO)
            Terminal.print("lost too")
            precondition(Terminal.outputFailure?.code == ENOSPC, "the first is the reason")
        }
    }

    @Test("a closed pipe is no error")
    func pipes() async {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_IGN)
            var ends: [Int32] = [0, 0]
            try check("make a pipe") { pipe(&ends) }
            dup2(ends[1], STDOUT_FILENO)
            close(ends[1])
            try Terminal.deliver("the key")
            var buffer = [UInt8](repeating: 0, count: 100)
            let count = read(ends[0], &buffer, 100)
            precondition(buffer.prefix(count) == Array("the key\n".utf8)[...])
            close(ends[0])
            Terminal.print("too late")
            precondition(Terminal.outputFailure == nil)
        }
    }

    @Test("no silent prompt without a terminal")
    func silent() async {
        await #expect(processExitsWith: .success) {
            dup2(try OpenFile("/dev/null", flags: O_RDONLY).descriptor, STDIN_FILENO)
            let answer: Int? = SilentTerminal.whileSilent { preconditionFailure("asked") }
            precondition(answer == nil && !SilentTerminal.restore())
        }
    }

    @Test("progress is silent with --quiet and monotonous")
    func progress() async throws {
        let folder = try TemporaryFolder()
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            let file = try OpenFile(path + "/progress", flags: O_WRONLY | O_CREAT | O_APPEND)
            // Files get progress only with --verbose.
            ProgressDisplay("Unseen", descriptor: file.descriptor).update(done: 1, total: 1)
            Terminal.configure(.verbose)
            let display = ProgressDisplay("Sending", descriptor: file.descriptor)
            for done in [0, 55, 20, 59, 60, 200] as [UInt64] { display.update(done: done, total: 100) }
            display.update(done: 0, total: 0)
            display.finish()
            Terminal.configure(.quiet)
            let silent = ProgressDisplay("Silent", descriptor: file.descriptor)
            silent.update(done: 1, total: 1)
            silent.finish()
        }
        let lines = String(decoding: try folder.read("progress"), as: UTF8.self).split(separator: "\n")
        #expect(
            lines.map { $0.prefix { $0 != "," } } == [
                "Sending: 0%", "Sending: 55%", "Sending: 60%", "Sending: 100%",
            ])
    }

    @Test("a narrow bar becomes a line")
    func narrow() {
        func line(_ width: Int) -> String {
            ProgressDisplay.line("Sending", done: 5, total: 10, elapsed: .milliseconds(99), width: width)
        }
        // The title, 5 cells, the amount and separators.
        let amount = "5 B of 10 B".count
        let least = "Sending".count + amount + 12 + 5
        #expect(line(least) == "Sending ██░░░  50%  5 B of 10 B")
        #expect(line(least - 1) == "Sending 50%, 5 B of 10 B")
        #expect(line(10) == "Sending 5")
        let fast = ProgressDisplay.line("S", done: 1000, total: 1000, elapsed: .milliseconds(100), width: nil)
        #expect(fast == "S: 100%, 1.0 kB of 1.0 kB, 10.0 kB/s")
    }
}
