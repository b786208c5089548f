import ChatCore

extension APIChatReference {
    /// Parses the format of `description`: `@7`, `#3`, `#3(_support)`, `#3(_support:9)`, `*1`.
    init?(text: String) {
        guard let bracket = text.firstIndex(of: "(") else {
            guard let chat = ChatReference(text) else { return nil }
            self.init(chat)
            return
        }
        guard let chat = ChatReference(text[..<bracket]), text.hasSuffix(")") else { return nil }
        let scope = text[bracket...].dropFirst().dropLast()
        if scope == "_support" {
            self.init(chat, scope: .support(member: nil))
        } else if scope.hasPrefix("_support:"), let member = Int64(scope.dropFirst("_support:".count)) {
            self.init(chat, scope: .support(member: member))
        } else {
            return nil
        }
    }
}
