import ChatCore
import CommandLineKit
import Desktop
import Posix

/// `chatfs contact`: chats with one other profile.
enum ContactCommand {
    private static let contact = Argument(
        "CONTACT", .listed("chats"), "The name of the contact, or its reference.")
    private static let code = Option(
        "code", named: "CODE", .text,
        "Compare with the other side's digits instead of printing, and mark the contact as verified if they "
            + "are equal; spaces are ignored, and - reads them from standard input.")
    private static let mark = Option.flag(
        "mark", "Mark the contact as verified; you have compared the digits.")
    private static let remove = Option.flag("remove", "Remove the mark.")
    private static let require = Option.flag("require", "Send to the contact only while it is verified.")
    private static let noRequire = Option.flag(
        "no-require", "Also send to the contact while it is not verified.")
    private static let deeds: [any OptionDeclaration] = [code, mark, remove, require, noRequire]

    static let command = Command(
        "contact", "List, verify, rename, leave, move and delete contacts, and renew keys.",
        discussion: "'chatfs connect' makes contacts, and reconnects contacts that were left.",
        section: CommandSection.chats, subcommands: ChatCommands(.contact).commands + [verify, renew, move])

    private static let verify = Command(
        "verify", "Compare security codes to rule out an interceptor.",
        discussion: """
            Prints the digits of a contact on the network, and whether they are verified. Compare them with those on \
            the other side (in SimpleX Chat under 'Verify security code'), over another channel than this chat. Equal \
            digits prove that no third party intercepts the chat. SimpleX Chat can scan the code from a terminal. \
            Here, --code takes the scanned or typed digits of the other side, and marks the contact as verified if \
            they are equal; --mark does so after your own comparison.

            New keys void the mark; a notification, 'chatfs status' and 'chatfs contact list' then say so. With \
            --require ChatFS sends to the contact only while its present keys are verified.

            The last line tells whether the encryption is post-quantum, so that traffic recorded today stays unreadable \
            for future quantum computers. This needs support on both sides, here libgcrypt 1.11 or later, and a message \
            in each direction.
            """,
        arguments: [contact], options: deeds + LinkDisplay.options + CommonOptions.access,
        examples: [
            Example("chatfs contact verify bob", "Read the digits to bob on the telephone."),
            Example("chatfs contact verify bob --mark", "Mark bob as verified."),
            Example(
                "zbarcam --oneshot --raw | chatfs contact verify bob --code -",
                "Scan the code on bob's phone."
            ),
        ]
    ) { invocation in
        let display = try LinkDisplay(invocation)
        let name = invocation[contact]
        let access = try ProfileAccess(invocation)
        guard deeds.count(where: invocation.isGiven) <= 1 else {
            throw UsageError("only one of --code, --mark, --remove, --require and --no-require can be given")
        }
        if invocation[remove] {
            _ = try await access.ask(.removeVerification(name))
            return Terminal.print("The contact is no longer verified.")
        }
        let isRequired = invocation[require]
        if isRequired || invocation[noRequire] {
            let answer = try await access.ask(.requireVerification(name, isRequired))
            return Terminal.print(requirement(isRequired, answer.verification ?? .unverified))
        }
        var other = invocation[code]
        if other == "-" { other = await ThreadPool.shared.run { readLine() } ?? "" }
        let answer = try await access.ask(.verify(name))
        guard let code = answer.code else {
            throw ChatError(
                .invalidCommand, "This contact is a profile of this machine and needs no verification.")
        }
        if let other {
            guard digits(of: other) == digits(of: code) else {
                throw ChatError(
                    .invalidCommand,
                    "The codes differ: they belong to another contact, or a third party intercepts the chat.")
            }
            _ = try await access.ask(.mark(name, verifiedBy: code))
            Terminal.print("The codes are equal. The contact is marked as verified.")
        } else {
            try await display.show(code)
            if invocation[mark] {
                _ = try await access.ask(.mark(name, verifiedBy: code))
                Terminal.print("The contact is marked as verified with these digits.")
            } else {
                Terminal.print((answer.verification ?? .unverified).sentence)
            }
        }
        if answer.isVerificationRequired == true {
            Terminal.print("ChatFS sends to this contact only while it is verified.")
        }
        if let protection = answer.protection { Terminal.print(protection.sentence) }
    }

    private static func requirement(_ isRequired: Bool, _ verification: ContactVerification) -> String {
        guard isRequired else { return "ChatFS sends to this contact even while it is not verified." }
        return verification == .verified
            ? "If the security code of this contact changes, ChatFS sends again only after you have verified the new one."
            : "ChatFS sends to this contact only after you have verified it."
    }

    private static let renew = Command(
        "renew", "Negotiate new keys with a contact.",
        discussion: """
            Repairs a chat in which messages no longer arrive, for example after an import of an older archive. ChatFS \
            sends new keys, and the contact's program answers with its own when it is online. Messages wait until \
            then. Unanswered keys are sent again. The security code changes: 'chatfs contact verify' shows the new \
            one.
            """,
        arguments: [contact], options: CommonOptions.access,
        examples: [Example("chatfs contact renew bob", "Repair a chat in which Bob receives nothing.")]
    ) { invocation in
        let request = ContactRequest.renew(invocation[contact])
        let answer = try await ProfileAccess(invocation).ask(request)
        let name = PrintableText.escaping(answer.name ?? "")
        Terminal.print(
            "New keys are on their way to \(name). The security code changes with the answer.")
    }

    private static let move = Command(
        "move", "Move a contact to another of your messaging servers.",
        discussion: """
            Messages from a contact wait on one of your messaging servers ('chatfs relay list'). This command creates \
            a queue on another one, chosen at random, and notifies the contact's program, which switches when it is \
            online. No message is lost, and the security code stays. The notice goes over the present server, so that \
            this server must still work.
            """,
        arguments: [contact], options: CommonOptions.access,
        examples: [Example("chatfs contact move bob", "Leave a server before it is switched off.")]
    ) { invocation in
        let request = ContactRequest.move(invocation[contact])
        let answer = try await ProfileAccess(invocation).ask(request)
        let name = PrintableText.escaping(answer.name ?? "")
        Terminal.print("\(name) switches to the new server when their program is online.")
    }

    private static func digits(of code: String) -> String { code.filter { !$0.isWhitespace } }
}

extension ContactVerification {
    /// The sentence for `contact verify`.
    fileprivate var sentence: String {
        switch self {
        case .unverified: "Not verified: compare the digits, then use --mark."
        case .verified: "Verified: you have compared these digits."
        case .revoked: warning ?? ""
        }
    }
}

extension ContactProtection {
    /// The sentence that describes the encryption.
    var sentence: String {
        switch self {
        case .postQuantum: "Encryption: post-quantum, in both directions."
        case .standard:
            "Encryption: standard. The contact's program has no post-quantum encryption, or too few messages were exchanged."
        case .onlyStandard:
            "Encryption: standard. Post-quantum encryption needs libgcrypt 1.11 or later, which is not installed here."
        }
    }
}
