import Posix
import Testing

@testable import CommandLineKit

@Suite("Verbosity")
struct VerbosityTests {
    private static let program = Command(
        "post", "Carries letters.",
        subcommands: [
            Command("send", "Send.", options: [Option("to", short: "t", named: "WHOM", .text, "Whom.")]) {
                _ in
            }
        ])

    @Test(
        "the last verbosity option counts",
        arguments: [
            (["send"], Verbosity.normal), (["--quiet", "send"], .quiet), (["send", "-q"], .quiet),
            (["send", "-v"], .verbose), (["-v", "send", "--verbose"], .debug), (["send", "-vv"], .debug),
            (["send", "-q", "-v"], .verbose), (["send", "-vvv", "-q"], .quiet),
            (["send", "-vtBob"], .verbose),
        ])
    func parsing(words: [String], verbosity: Verbosity) throws {
        guard case .run(let invocation) = try Parser.parse(words, of: Self.program) else {
            Issue.record("\(words) is no request to run")
            return
        }
        #expect(invocation.verbosity == verbosity)
    }

    @Test("verbosity options end at --")
    func refused() {
        #expect(throws: Parser.Failure.self) { try Parser.parse(["send", "--quiet=1"], of: Self.program) }
        #expect(throws: Parser.Failure.self) { try Parser.parse(["send", "--", "-q"], of: Self.program) }
    }

    @Test("--quite suggests --quiet")
    func suggestion() {
        do {
            _ = try Parser.parse(["send", "--quite"], of: Self.program)
            Issue.record("it was understood")
        } catch {
            #expect(error.error.sentence == "unknown option --quite; did you mean '--quiet'?")
        }
    }

    @Test("the environment overrides the log level")
    func level() {
        #expect(Verbosity.quiet.logLevel(environment: nil) == .error)
        #expect(Verbosity.normal.logLevel(environment: nil) == .notice)
        #expect(Verbosity.verbose.logLevel(environment: nil) == .info)
        #expect(Verbosity.debug.logLevel(environment: nil) == .debug)
        #expect(Verbosity.debug.logLevel(environment: "warning") == .warning)
        #expect(Verbosity.quiet.logLevel(environment: "loud") == .error)
    }
}
