import Agent
import ChatCore
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Verification of security codes")
struct VerificationTests {
    private static func security(_ machine: Machine, of name: String) async throws -> ContactSecurity {
        try #require(try await machine.core.security(of: machine.core.chat(named: name)))
    }

    private static func chat(_ machine: Machine, _ name: String) async throws -> Chat {
        try #require(try await machine.core.chats().first { $0.displayName == name })
    }

    /// Waits until both have other keys.
    private static func renew(_ alice: Machine, _ bob: Machine, notTo code: String) async throws {
        try await bob.core.renewKeys(of: bob.core.chat(named: "alice"))
        try await wait(until: "both have other keys") {
            let own = try await security(alice, of: "bob").code
            let others = try await security(bob, of: "alice").code
            let isOver = try [alice, bob].allSatisfy { machine in
                try machine.core.store.read {
                    try $0.chats.keys(of: 2) == nil && $0.chats.keys(of: 1) == nil
                }
            }
            return own != code && own == others && isOver
        }
    }

    @Test("only the right code verifies, across restarts")
    func marking() async throws {
        let (alice, bob) = try await Internet().pair()
        let chat = try await alice.core.chat(named: "bob")
        let code = try await Self.security(alice, of: "bob").code
        #expect(try await Self.security(alice, of: "bob").verification == .unverified)
        let wrong = code.replacing(code.prefix(5), with: code.hasPrefix("12345") ? "54321" : "12345")
        #expect(await refusal { try await alice.core.verify(chat, code: wrong) }?.code == .invalidCommand)
        #expect(try await Self.chat(alice, "bob").verification == .unverified)
        try await alice.core.verify(chat, code: code.filter { $0 != " " })
        try await alice.reopen()
        #expect(try await Self.security(alice, of: "bob").verification == .verified)
        #expect(try await Self.chat(alice, "bob").verification == .verified)
        #expect(try await Self.security(bob, of: "alice").verification == .unverified)
        try await alice.core.verify(chat, code: nil)
        #expect(try await Self.chat(alice, "bob").verification == .unverified)
        #expect(
            await refusal { try await alice.core.verify(alice.core.chat(named: "Saved notes"), code: code) }?
                .code == .invalidCommand)
        for machine in [alice, bob] { try await machine.core.shutDown() }
    }

    @Test("new keys revoke verification and notify")
    func revocation() async throws {
        let (alice, bob) = try await Internet().pair()
        let chat = try await alice.core.chat(named: "bob")
        let code = try await Self.security(alice, of: "bob").code
        try await alice.core.verify(chat, code: code)
        let events = try alice.core.events()
        let told = Task { () -> [String] in
            for await event in events {
                if case .chatUpdated(let chat) = event, chat.verification == .revoked { return chat.problems }
            }
            return []
        }
        try await Self.renew(alice, bob, notTo: code)
        #expect(await told.value.contains { $0.contains("the keys have changed") })
        #expect(try await Self.chat(alice, "bob").verification == .revoked)
        #expect(try await Self.chat(bob, "alice").verification == .unverified)
        try await alice.core.verify(chat, code: Self.security(bob, of: "alice").code)
        #expect(try await Self.chat(alice, "bob").verification == .verified)
        for machine in [alice, bob] { try await machine.core.shutDown() }
    }

    @Test("required verification blocks sending")
    func requirement() async throws {
        let (alice, bob) = try await Internet().pair()
        let chat = try await alice.core.chat(named: "bob")
        let code = try await Self.security(alice, of: "bob").code
        try await alice.core.requireVerification(of: chat, true)
        func send(_ text: String) async throws {
            try await alice.core.send(ComposedText(id: "request \(text)", text: text), to: chat)
        }
        let refused = await refusal { try await send("early") }
        #expect(refused?.code == .sendingRefused && refused?.sentence.contains("verified") == true)
        try await alice.core.verify(chat, code: code)
        try await send("one")
        try await Self.renew(alice, bob, notTo: code)
        #expect(await refusal { try await send("two") }?.sentence.contains("it has changed") == true)
        try await alice.core.requireVerification(of: chat, false)
        try await send("three")
        try await alice.core.requireVerification(of: chat, true)
        #expect(await refusal { try await send("four") }?.code == .sendingRefused)
        for machine in [alice, bob] { try await machine.core.shutDown() }
    }
}
