import ChatCore
import CommandLineKit
import Desktop

/// `chatfs address`: a link for contact requests.
enum AddressCommand {
    private static let acceptance = Option(
        "accept", named: "HOW", .choice(RequestAcceptance.self),
        "How to answer requests: ask (they wait for you, the default), automatically.")

    static let command = Command(
        "address", "Manage an address for contact requests.",
        discussion: """
            Unlike the link of 'chatfs pair', an address serves any number of people and stays until you delete it. A \
            request waits for 'chatfs accept NUMBER' or 'chatfs reject NUMBER'; 'chatfs requests' lists them. A \
            profile has at most one address.
            """,
        section: CommandSection.chats, subcommands: [create, show, delete])

    private static let create = Command(
        "create", "Create the address and print it.",
        discussion: """
            Prints the address if there is one already; --accept then applies to later requests. At most 60 requests \
            in an hour are accepted automatically; the others wait for you.
            """,
        options: [acceptance] + LinkDisplay.options + ContactMeeting.options,
        examples: [
            Example(
                "chatfs address create --profile alice --server smp://…@relay.example", "The first time."),
            Example("chatfs address create --accept automatically", "Accept every request."),
        ]
    ) { invocation in
        let display = try LinkDisplay(invocation)
        let meeting = try await ContactMeeting(invocation)
        let answer = try await meeting.ask(.createAddress(invocation[acceptance]))
        if let warning = meeting.warning { Terminal.note(warning) }
        try await display.show(answer.link ?? "")
    }

    private static let show = Command(
        "show", "Print the address, and its code in a terminal.",
        options: LinkDisplay.options + CommonOptions.access,
        examples: [Example("chatfs address show --png card.png", "Also write a picture of the code.")]
    ) { invocation in
        let display = try LinkDisplay(invocation)
        let answer = try await ProfileAccess(invocation).ask(.showAddress)
        try await display.show(answer.link ?? "")
        if let problem = answer.addressProblem { Terminal.note("chatfs: \(problem)") }
        if answer.acceptance == .automatically { Terminal.note("Requests are accepted automatically.") }
    }

    private static let delete = Command(
        "delete", "Delete the address, so that it no longer leads to you.",
        discussion: "Contacts stay. Pending requests are deleted without notifying their senders.",
        options: CommonOptions.access,
        examples: [Example("chatfs address delete", "A new address has another link.")]
    ) { invocation in
        _ = try await ProfileAccess(invocation).ask(.deleteAddress)
    }
}
