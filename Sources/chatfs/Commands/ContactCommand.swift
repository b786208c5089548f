import ChatCore
import CommandLineKit
import Desktop
import Posix

/// `chatfs contact`: chats with one other profile.
enum ContactCommand {
    static let command = Command(
        "contact", "List, verify, rename, leave, move and delete contacts, and agree with them on new keys.",
        discussion: "'chatfs connect' makes contacts, also those again that were left.",
        section: CommandSection.chats, subcommands: ChatCommands(.contact).commands + [verify, renew, move])

    private static let verify = Command(
        "verify", "Compare the digits by which two contacts know that nobody is in between.",
        discussion: """
            Prints the digits and whether they count as verified. Of a contact on the network: compare them with what the other side sees (in SimpleX Chat under 'Verify \
            security code'), over a way that is not this chat. They are the same when nobody is in between. SimpleX \
            Chat compares by itself when it scans the code that a terminal shows; what it shows, scanned or typed here, \
            is compared with --code, which marks \
            the contact as verified where they are the same; --mark does that when you have compared them yourself. When \
            the keys change the mark is void: a notification, 'chatfs status' and 'chatfs contact list' say so. With \
            --require nothing is sent to the contact unless it is verified with the present keys. Under the digits stands whether the encryption is post-quantum: whether it also keeps what somebody records today from \
            quantum computers to come. It is when both sides have it, here with libgcrypt 1.11 or later, and each \
            has written once.
            """,
        arguments: [Argument("CONTACT", .listed("chats"), "The name of the contact, or its reference.")],
        options: [
            .value(
                "code", named: "CODE", .text,
                "Compare with the other side's digits instead of printing, and mark the contact as verified when they "
                    + "are the same; spaces do not matter, and - reads them from standard input."),
            .flag("mark", "The digits are the same: mark the contact as verified."),
            .flag("remove", "Take the mark back."),
            .flag("require", "From now on send nothing to the contact while it is not verified."),
            .flag("no-require", "Send to the contact whether it is verified or not."),
        ] + LinkDisplay.options + CommonOptions.access,
        examples: [
            Example("chatfs contact verify bob", "Read them to bob on the telephone."),
            Example("chatfs contact verify bob --mark", "He sees the same digits."),
            Example(
                "zbarcam --oneshot --raw | chatfs contact verify bob --code -", "Scan what bob's phone shows."
            ),
        ]
    ) { invocation in
        let display = try LinkDisplay(invocation)
        let name = invocation.argument("CONTACT")
        let access = try ProfileAccess(invocation)
        let deeds = ["mark", "remove", "require", "no-require"].filter(invocation.has).count
        guard deeds + (invocation["code"] == nil ? 0 : 1) <= 1 else {
            throw UsageError("only one of --code, --mark, --remove, --require and --no-require can be given")
        }
        if invocation.has("remove") {
            _ = try await access.ask(.removeVerification(name))
            return Terminal.print("The contact counts as not verified.")
        }
        if invocation.has("require") || invocation.has("no-require") {
            let isRequired = invocation.has("require")
            let answer = try await access.ask(.requireVerification(name, isRequired))
            return Terminal.print(requirement(isRequired, answer.verification ?? .unverified))
        }
        var other = invocation["code"]
        if other == "-" { other = await ThreadPool.shared.run { readLine() } ?? "" }
        let answer = try await access.ask(.verify(name))
        guard let code = answer.code else {
            throw ChatError(
                .invalidCommand, "This contact is a profile of this machine: nobody can be in between.")
        }
        if let other {
            guard digits(of: other) == digits(of: code) else {
                throw ChatError(
                    .invalidCommand,
                    "The codes differ: these are not the digits of this contact, or somebody is in between.")
            }
            _ = try await access.ask(.mark(name, verifiedBy: code))
            Terminal.print("The codes are the same: nobody is in between. The contact is marked as verified.")
        } else {
            try await display.show(code)
            if invocation.has("mark") {
                _ = try await access.ask(.mark(name, verifiedBy: code))
                Terminal.print("The contact is marked as verified with these digits.")
            } else {
                Terminal.print((answer.verification ?? .unverified).sentence)
            }
        }
        if answer.isVerificationRequired == true {
            Terminal.print("Nothing is sent to this contact while it is not verified.")
        }
        if let protection = answer.protection { Terminal.print(protection.sentence) }
    }

    private static func requirement(_ isRequired: Bool, _ verification: ContactVerification) -> String {
        guard isRequired else { return "What you send goes to this contact whether it is verified or not." }
        return verification == .verified
            ? "From now on nothing is sent to this contact when its security code changes, until you have verified the new one."
            : "Nothing is sent to this contact until you have verified it."
    }

    private static let renew = Command(
        "renew", "Agree with a contact on new keys.",
        discussion: """
            Where what both write does not arrive any more, as after an import of which the contact's program has not \
            heard: it is sent new keys, answers with its own when it is online, and from then on everything goes with \
            these. What is sent meanwhile waits. Keys that were sent already and not answered yet are sent again. The \
            security code changes: 'chatfs contact verify' shows the new one.
            """,
        arguments: [Argument("CONTACT", .listed("chats"), "The name of the contact, or its reference.")],
        options: CommonOptions.access,
        examples: [Example("chatfs contact renew bob", "Bob says that nothing comes.")]
    ) { invocation in
        let request = ContactRequest.renew(invocation.argument("CONTACT"))
        let answer = try await ProfileAccess(invocation).ask(request)
        let name = PrintableText.escaping(answer.name ?? "")
        Terminal.print(
            "New keys are on their way to \(name). The security code changes when they are answered.")
    }

    private static let move = Command(
        "move", "Have a contact write to another of your messaging servers.",
        discussion: """
            What a contact writes waits on one of your messaging servers ('chatfs relay list'). This makes a queue on \
            another one, chosen at random, and tells the contact's program, which uses it from when it is online; nothing \
            is lost, and the security code stays. The contact hears of it over the present server and answers there: one \
            that is gone for good cannot be left this way.
            """,
        arguments: [Argument("CONTACT", .listed("chats"), "The name of the contact, or its reference.")],
        options: CommonOptions.access,
        examples: [Example("chatfs contact move bob", "The server that bob writes to will be switched off.")]
    ) { invocation in
        let request = ContactRequest.move(invocation.argument("CONTACT"))
        let answer = try await ProfileAccess(invocation).ask(request)
        let name = PrintableText.escaping(answer.name ?? "")
        Terminal.print("\(name) is told of the new server, and uses it from when their program is online.")
    }

    private static func digits(of code: String) -> String { code.filter { !$0.isWhitespace } }
}

extension ContactVerification {
    /// The sentence for `contact verify`.
    fileprivate var sentence: String {
        switch self {
        case .unverified: "Not verified: compare the digits, and say so with --mark."
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
            "Encryption: standard. The contact's program has no post-quantum encryption, or too little was written yet."
        case .onlyStandard:
            "Encryption: standard. Post-quantum encryption needs libgcrypt 1.11 or later, which is not installed here."
        }
    }
}
