import CommandLineKit
import Posix

/// Consent to the conditions of a relay operator, without which its relays are not used.
enum OperatorConditions {
    /// Prints operator, visible data and conditions of the relays, and prompts for consent.
    /// - Returns: True with consent; false without a terminal.
    static func areAccepted(of operators: [RelayOperator]) async -> Bool {
        let names = operators.map(\.name).joined(separator: " and ")
        for line in [
            "These relays belong to \(names).",
            "They see when this machine connects, from which address, and how much it sends,",
            "but neither messages nor files.",
            "Their conditions of use: \(RelayOperator.conditions)",
        ] { Terminal.complain(line) }
        let answer = await ThreadPool.shared.run {
            Question.line("Accept the conditions and use them? [y/N] ")
        }
        return answer?.lowercased().hasPrefix("y") == true
    }
}
