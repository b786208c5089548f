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
        "verify", "Print the digits by which two contacts know that nobody is in between.",
        discussion: """
            Of a contact on the network: compare them with what the other side sees (in SimpleX Chat under 'Verify \
            security code'), over a way that is not this chat. They are the same when nobody is in between. SimpleX \
            Chat compares by itself when it scans the code that a terminal shows; what it shows, scanned or typed here, \
            is compared with --code. Under the digits stands whether the encryption is post-quantum: whether it also keeps what somebody records today from \
            quantum computers to come. It is when both sides have it, here with libgcrypt 1.11 or later, and each \
            has written once.
            """,
        arguments: [Argument("CONTACT", .listed("chats"), "The name of the contact, or its reference.")],
        options: [
            .value(
                "code", named: "CODE", .text,
                "Compare with the other side's digits instead of printing; spaces do not matter, and - reads them "
                    + "from standard input.")
        ] + LinkDisplay.options + CommonOptions.access,
        examples: [
            Example("chatfs contact verify bob", "Read them to bob on the telephone."),
            Example(
                "zbarcam --oneshot --raw | chatfs contact verify bob --code -", "Scan what bob's phone shows."
            ),
        ]
    ) { invocation in
        let display = LinkDisplay(invocation)
        var other = invocation["code"]
        if other == "-" { other = await ThreadPool.shared.run { readLine() } ?? "" }
        let request = ContactRequest.verify(invocation.argument("CONTACT"))
        let answer = try await ProfileAccess(invocation).ask(request)
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
            Terminal.print("The codes are the same: nobody is in between.")
        } else {
            try await display.show(code)
        }
        if let protection = answer.protection { Terminal.print(protection.sentence) }
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

extension ContactProtection {
    /// For who asked how a chat is protected.
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
