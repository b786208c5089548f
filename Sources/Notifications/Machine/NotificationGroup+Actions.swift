import ChatCore

/// The actions that a group offers.
extension NotificationGroup {
    /// Maximum number of entries selected in a window.
    static let maxSelected = 16

    /// - Parameter namesRelays: True if the text names the relays to approve.
    func actions(namesRelays: Bool) -> OfferedActions {
        var actions = OfferedActions(click: show)
        switch key.subject {
        case .arrival: actions = arrival
        case .text: actions.buttons = markRead
        case .keys, .connection: break
        case .stop: actions.click = nil
        case .refusal:
            let server = namesRelays ? key.refusal?.server : nil
            actions = OfferedActions(buttons: server.map { [.approve([$0])] } ?? [])
            if let remedy = key.refusal?.remedy { actions.buttons.append(.permit(remedy)) }
        case .approval:
            if namesRelays, sharesRelays, 1...Self.maxRelays ~= relays.count {
                actions.buttons = [.approve(relays)]
            }
        case .failure: if mayRetry { actions.buttons = [.retry(entries)] }
        case .expiry: actions.buttons = [.keep(entries)]
        case .hold: actions.buttons = [.send(entries), .discard(entries)]
        case .request, .invitation:
            actions.click = nil
            if count == 1, case .request(let number)? = files.last?.entry {
                actions.buttons = [.accept(number), .reject(number)]
            }
        }
        return actions
    }

    private var arrival: OfferedActions {
        guard count == 1, let file = files.last else {
            return OfferedActions(click: show, buttons: (show.map { [$0] } ?? []) + markRead)
        }
        let (open, show) = (NotificationAction.open(file.entry), NotificationAction.show([file.entry]))
        return OfferedActions(click: file.isShownByClick ? open : show, buttons: [open, show])
    }

    /// Returns nil if there is no file to show, or too many places.
    private var show: NotificationAction? {
        let entries = files.map(\.entry).filter { entry in
            switch entry {
            case .item, .draft: true
            case .text, .request, .contact: false
            }
        }
        guard let chat = key.chat else { return nil }
        return entries.isEmpty ? .showFolder(chat) : .show(entries.suffix(Self.maxSelected))
    }

    private var markRead: [NotificationAction] { key.chat.map { [.markRead($0)] } ?? [] }
}
