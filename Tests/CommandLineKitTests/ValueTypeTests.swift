import Base
import Testing

@testable import CommandLineKit

@Suite("Value types")
struct ValueTypeTests {
    @Test(
        "integer ranges include both ends",
        arguments: [
            ("0", false), ("1", true), ("9", true), ("10", false), ("-1", false), ("+5", true),
            ("5.0", false),
            ("", false), ("five", false), (" 5", false), ("99999999999999999999", false), ("٥", false),
        ])
    func integers(text: String, isValid: Bool) {
        #expect((ValueType.integer(1...9).complaint(about: text) == nil) == isValid)
    }

    @Test("complaints name the expected range")
    func expectations() {
        #expect(
            ValueType.integer(-3...3).complaint(about: "x") == "expected a whole number from -3 to 3")
        #expect(
            ValueType.integer(1...Int.max).complaint(about: "0") == "expected a whole number from 1 on")
        #expect(ValueType.integer(1...Int.max).complaint(about: "\(Int.max)") == nil)
        #expect(ValueType.choice(["a", "b", "c"]).complaint(about: "d") == "expected a, b or c")
        #expect(ValueType.choice(["a"]).complaint(about: "A") == "expected a")
    }

    @Test("word lists read as sentences")
    func lists() {
        #expect(ValueType.list([]) == "")
        #expect(ValueType.list(["a"]) == "a")
        #expect(ValueType.list(["a", "b"]) == "a or b")
        #expect(ValueType.list(["a", "b", "c"]) == "a, b or c")
    }

    @Test("only paths must not be empty")
    func empty() {
        for type in [ValueType.file, .folder] {
            #expect(type.complaint(about: "") == "a path cannot be empty")
            #expect(type.complaint(about: " ") == nil)
        }
        for type in [ValueType.text, .listed("people")] { #expect(type.complaint(about: "") == nil) }
        for type in [ValueType.byteCount, .duration, .choice(["a"]), .integer(0...1)] {
            #expect(type.complaint(about: "") != nil)
        }
    }

    @Test(
        "each unit's maximum duration is exact",
        arguments: [("ms", Int64(1)), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)])
    func longest(unit: String, milliseconds: Int64) {
        let most = Int64.max / milliseconds
        #expect(DurationText.parse("\(most)\(unit)") == .milliseconds(most * milliseconds))
        #expect(DurationText.parse("\(UInt64(most) + 1)\(unit)") == nil)
        #expect(DurationText.parse("0\(unit)") == .zero)
        #expect(DurationText.parse("1\(unit.uppercased())") == nil)
    }

    @Test(
        "a unit follows digits only",
        arguments: ["ms", "1sm", "1 ms", "1ms ", "+1s", "٣s", "1e3s", "00"])
    func noTimes(text: String) { #expect(DurationText.parse(text) == nil) }

    @Test("values are typed with defaults")
    func typed() throws {
        let size = Option("size", named: "N", .byteCount, default: 1024, "Size.")
        let wait = Option("wait", named: "T", .duration, "Wait.")
        let number = Option("n", named: "N", .integer(0...99), "Number.")
        let ways = Option.list("via", named: "X", .text, "Way.")
        let again = Option("again", named: "YES|NO", .either("yes", "no"), default: true, "Repeat.")
        let shell = Option("shell", named: "S", .choice(Completion.self), default: .zsh, "Shell.")
        #expect([size.defaultText, again.defaultText, shell.defaultText] == ["1kb", "yes", "zsh"])
        let program = Command(
            "post", "Carries letters.",
            subcommands: [
                Command("send", "Send.", options: [size, wait, number, ways, again, shell]) { _ in }
            ])
        func parse(_ words: String...) throws -> Invocation {
            guard case .run(let invocation) = try Parser.parse(["send"] + words, of: program) else {
                throw UsageError("not run")
            }
            return invocation
        }
        let none = try parse()
        #expect(none[size] == 1024 && none[wait] == nil && none[number] == nil)
        #expect(none[ways] == [] && none[again] && none[shell] == .zsh)
        let given = try parse(
            "--size", "2mb", "--wait=3m", "--n", "07", "--via", "sea", "--via=", "--again=no", "--shell=bash")
        #expect(given[size] == 2 << 20 && given[wait] == .seconds(180) && given[number] == 7)
        #expect(given[ways] == ["sea", ""] && !given[again] && given[shell] == .bash)
        #expect(given.isGiven(size) && !none.isGiven(size) && !none.isGiven(Sample.quick))
        #expect(given.path == ["post", "send"] && given.program.name == "post")
    }

    @Test(
        "defaults read like typed durations",
        arguments: ["1ms", "1500ms", "1s", "90s", "5m", "8h", "48h", "3d", "21d"])
    func durations(text: String) throws {
        #expect(DurationText.exact(try #require(DurationText.parse(text))) == text)
    }

    @Test("reading another command's options traps")
    func unknownNames() async {
        await #expect(processExitsWith: .failure) { _ = try Sample.parse("box close")[Sample.quick] }
        await #expect(processExitsWith: .failure) { _ = try Sample.parse("box close")[Sample.relays] }
        await #expect(processExitsWith: .failure) { _ = try Sample.parse("box close")[Sample.seal] }
        await #expect(processExitsWith: .failure) { _ = try Sample.parse("box close")[Sample.person] }
    }
}
