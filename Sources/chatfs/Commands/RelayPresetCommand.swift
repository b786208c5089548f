import CommandLineKit

/// `chatfs relay preset`: the default relays of the official apps.
enum RelayPresetCommand {
    private static let operators = Argument(
        "OPERATOR", .choice(RelayOperator.self), count: .oneOrMore,
        "simplex (SimpleX Chat Ltd.) or flux (Flux).")
    private static let yes = Option.flag("yes", "Accept the conditions without a question.")
    private static let show = Option.flag("show", "Print the addresses; change nothing.")

    static let command = Command(
        "preset", "Add the preset relays of an operator of the official apps.",
        discussion: """
            Shows the operator and the conditions of use, and asks for consent. ChatFS contacts the relays only after \
            they were added, when the profile makes a contact or sends a file.
            """,
        arguments: [operators], options: [yes, show] + CommonOptions.ofProfile,
        examples: [
            Example("chatfs relay preset simplex", "Add the relays of SimpleX Chat."),
            Example("chatfs relay preset simplex flux --yes", "Add the relays of both, in a script."),
        ]
    ) { invocation in
        let operators = invocation[operators]
        let relays = operators.flatMap(\.relays)
        if invocation[show] {
            for relay in relays { Terminal.print(relay.text) }
            return
        }
        let profile = try await ProfileRelays(invocation)
        if !invocation[yes], !(await OperatorConditions.areAccepted(of: operators)) {
            throw Question.canBeAsked
                ? Refusal("Nothing was changed.")
                : UsageError("there is no terminal for the question; answer it with --yes")
        }
        try await profile.add(relays)
        Terminal.note("\(relays.count) relays were added; 'chatfs relay list' prints them.")
    }
}
