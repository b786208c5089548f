import ChatCore
import CommandLineKit
import Desktop

/// `chatfs address`: a link for contact requests.
enum AddressCommand {
    static let command = Command(
        "address", "Keep an address at which anybody may ask to become your contact.",
        discussion: """
            Unlike the link of 'chatfs pair' it is used by any number of people, and stays until you delete it. A \
            request waits for 'chatfs accept NUMBER' or 'chatfs reject NUMBER'; 'chatfs requests' lists them. A profile \
            has one address at most.
            """,
        section: CommandSection.chats, subcommands: [create, show, delete])

    private static let create = Command(
        "create", "Make the address, and print it.",
        discussion: """
            Where there is one already it is printed, and --accept changes what is done with requests from then on. \
            Of those accepted automatically there are at most 60 in an hour; the others wait for you.
            """,
        options: [
            .value(
                "accept", named: "HOW", .choice(RequestAcceptance.allCases.map(\.rawValue)),
                "What is done with requests: ask (they wait for you, the default), automatically.")
        ] + LinkDisplay.options + ContactMeeting.options,
        examples: [
            Example(
                "chatfs address create --profile alice --server smp://…@relay.example", "The first time."),
            Example("chatfs address create --accept automatically", "Everybody is let in."),
        ]
    ) { invocation in
        let acceptance = invocation["accept"].flatMap(RequestAcceptance.init)
        let display = try LinkDisplay(invocation)
        let meeting = try await ContactMeeting(invocation)
        let answer = try await meeting.ask(.createAddress(acceptance))
        if let warning = meeting.warning { Terminal.note(warning) }
        try await display.show(answer.link ?? "")
    }

    private static let show = Command(
        "show", "Print the address, and its code in a terminal.",
        options: LinkDisplay.options + CommonOptions.access,
        examples: [Example("chatfs address show --png card.png", "With a picture of the code.")]
    ) { invocation in
        let display = try LinkDisplay(invocation)
        let answer = try await ProfileAccess(invocation).ask(.showAddress)
        try await display.show(answer.link ?? "")
        if let problem = answer.addressProblem { Terminal.note("chatfs: \(problem)") }
        if answer.acceptance == .automatically { Terminal.note("Requests are accepted automatically.") }
    }

    private static let delete = Command(
        "delete", "Delete the address: nobody reaches you by it any more.",
        discussion: "Contacts stay. Requests that wait are forgotten; nobody is notified of that.",
        options: CommonOptions.access,
        examples: [Example("chatfs address delete", "A new one has another link.")]
    ) { invocation in
        _ = try await ProfileAccess(invocation).ask(.deleteAddress)
    }
}
