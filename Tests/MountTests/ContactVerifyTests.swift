import ChatCore
import Posix
import Ratchet
import TestSupport
import Testing

@testable import chatfs

/// Two contacts that check for an interceptor.
@Suite struct ContactVerifyTests {
    @Test("both sides show and compare the same code")
    func comparing() async throws {
        let machines = try await TwoMachines()
        let (pair, link) = try await machines.pair("alice", ["--profile", "alice"] + machines.servers)
        let accepted = try await ChatFSProcess.run(
            ["accept", link, "--profile", "bob"] + machines.data("bob") + machines.servers)
        #expect(accepted.succeeded, "\(accepted.errors)")
        #expect(try await pair.ending() == .code(0))

        let picture = machines.folder.path("code.png")
        let shown = try await ChatFSProcess.run(
            ["contact", "verify", "bob", "--png", picture] + machines.data("alice"))
        let digits = try #require(shown.output.split(separator: "\n").first).description
        #expect(digits.split(separator: " ").allSatisfy { $0.allSatisfy(\.isNumber) } && digits.count > 60)
        #expect(try await Shell.run("file", ["--brief", picture]).output.hasPrefix("PNG image"))
        // SimpleX Chat's scanner compares the code without spaces.
        let other = try await ChatFSProcess.run(["contact", "verify", "alice"] + machines.data("bob"))
        #expect(other.output.hasPrefix(digits + "\n"))
        // Post-quantum encryption needs libgcrypt and a message from each side.
        let possible: [ContactProtection] =
            GcryptKEM.installed == nil ? [.onlyStandard] : [.standard, .postQuantum]
        for outcome in [shown, other] {
            let said = outcome.output.split(separator: "\n").filter { $0.hasPrefix("Encryption: ") }
            #expect(said.count == 1, "\(outcome.output)")
            #expect(possible.contains { $0.sentence == said.first.map(String.init) }, "\(said)")
        }

        for code in [digits, digits.filter { $0 != " " }] {
            let same = try await Shell.script(
                #"printf '%s\n' "$CODE" | "$CHATFS" contact verify alice --code - --data "$DATA""#,
                environment: [
                    "CODE": code, "CHATFS": ChatFSProcess.path, "DATA": machines.data("bob")[1],
                    "CREDENTIALS_DIRECTORY": ChatFSProcess.credentials,
                ])
            #expect(same.succeeded && same.output.hasPrefix("The codes are equal"), "\(same.errors)")
        }
        var wrong = Array(digits)
        wrong[0] = wrong[0] == "1" ? "2" : "1"
        for code in [String(wrong), String(digits.dropLast()), ""] {
            let differing = try await ChatFSProcess.run(
                ["contact", "verify", "alice", "--code", code] + machines.data("bob"))
            #expect(differing.ending == .code(1) && differing.output == "")
            #expect(differing.errors.contains("The codes differ"))
        }
        let renewed = try await ChatFSProcess.run(["contact", "renew", "bob"] + machines.data("alice"))
        #expect(renewed.succeeded && renewed.output.hasPrefix("New keys are on their way to bob."))
        let listed = try await ChatFSProcess.run(["contact", "list"] + machines.data("alice"))
        #expect(listed.errors.contains("bob: Messages here wait"), "\(listed.errors)")
        // Only one server exists.
        let moved = try await ChatFSProcess.run(["contact", "move", "bob"] + machines.data("alice"))
        #expect(moved.ending == .code(1) && moved.output == "")
        #expect(moved.errors.contains("no other messaging server"), "\(moved.errors)")
        try await machines.relay.terminate()
    }
}
