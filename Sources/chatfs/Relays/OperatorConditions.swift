import CommandLineKit
import Posix

/// The relays of an operator are used by who has accepted the operator's conditions, and by nobody else.
enum OperatorConditions {
    /// Says whose the relays are, what they see and under which conditions they may be used, and asks on the terminal.
    /// - Returns: whether they may be used; false without a terminal.
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
