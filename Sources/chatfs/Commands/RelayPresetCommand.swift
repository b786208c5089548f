import CommandLineKit

/// `chatfs relay preset`: the default relays of the official apps.
enum RelayPresetCommand {
    static let command = Command(
        "preset", "Add the preset relays of an operator of the official apps.",
        discussion: """
            Shows the operator and the conditions of use, and asks for consent. ChatFS contacts the relays only after \
            they were added, when the profile makes a contact or sends a file.
            """,
        arguments: [
            Argument(
                "OPERATOR", .choice(RelayOperator.allCases.map(\.rawValue)), count: .oneOrMore,
                "simplex (SimpleX Chat Ltd.) or flux (Flux).")
        ],
        options: [
            .flag("yes", "Accept the conditions without a question."),
            .flag("show", "Print the addresses; change nothing."),
            CommonOptions.profile, CommonOptions.mount,
        ] + CommonOptions.directory,
        examples: [
            Example("chatfs relay preset simplex", "Add the relays of SimpleX Chat."),
            Example("chatfs relay preset simplex flux --yes", "Add the relays of both, in a script."),
        ]
    ) { invocation in
        let operators = invocation.allArguments("OPERATOR").compactMap(RelayOperator.init)
        let relays = operators.flatMap(\.relays)
        if invocation.has("show") {
            for relay in relays { Terminal.print(relay.text) }
            return
        }
        let profile = try await ProfileRelays(invocation)
        if !invocation.has("yes"), !(await OperatorConditions.areAccepted(of: operators)) {
            throw Question.canBeAsked
                ? Refusal("Nothing was changed.")
                : UsageError("there is no terminal for the question; answer it with --yes")
        }
        try await profile.add(relays)
        Terminal.note("\(relays.count) relays were added; 'chatfs relay list' prints them.")
    }
}
