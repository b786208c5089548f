import ChatCore

/// What waits to be told, in the order in which it began to: one group for each chat and subject.
struct WaitingGroups: Sendable {
    typealias Group = NotificationGroup

    private(set) var groups: [Group] = []
    static let limit = 256

    /// Something happened that belongs into a group.
    mutating func add(_ key: Group.Key, at now: Group.Instant, _ change: (inout Group) -> Void) {
        if let index = index(of: key) {
            change(&groups[index])
        } else {
            var group = Group(key, since: now)
            change(&group)
            if groups.count < Self.limit { groups.append(group) } else { merge(group) }
        }
    }

    /// Whether that an item arrived waits to be told.
    func holdsArrival(of item: ItemID) -> Bool {
        groups.contains { group in
            group.key.subject == .arrival && group.items.contains { $0.entry == .item(item) }
        }
    }

    /// What waits once more.
    mutating func add(_ group: Group) {
        if let index = index(of: group.key) { groups[index].add(group) } else { groups.append(group) }
    }

    /// What comes when too much waits is told together, or not at all.
    private mutating func merge(_ group: Group) {
        guard group.key.subject.isArrival else { return }
        var all = Group(Group.Key(chat: nil, subject: group.key.subject), since: group.since)
        all.add(group)
        add(all)
    }

    /// An entry of which nothing of these subjects need be told any more.
    mutating func remove(_ entry: NotifiedEntry, of subjects: [NotificationSubject]) {
        for index in groups.indices.reversed() where subjects.contains(groups[index].key.subject) {
            guard groups[index].key.refusal == nil else { continue }
            if !groups[index].remove(entry) { groups.remove(at: index) }
        }
    }

    /// Requests that were answered before they were told.
    mutating func removeRequests(except waiting: Set<Int64>) {
        for group in groups where [.request, .invitation].contains(group.key.subject) {
            for case .request(let number) in group.files.map(\.entry) where !waiting.contains(number) {
                remove(.request(number), of: [.request, .invitation])
            }
        }
    }

    /// The keys of what came to a chat.
    func arrivals(in chat: ChatReference) -> Set<Group.Key> {
        Set(groups.map(\.key).filter { $0.chat == chat && $0.subject.isArrival })
    }

    /// Those of these keys, which wait no more.
    mutating func take(_ keys: Set<Group.Key>) -> [Group] {
        defer { groups.removeAll { keys.contains($0.key) } }
        return groups.filter { keys.contains($0.key) }
    }

    private func index(of key: Group.Key) -> Int? { groups.firstIndex { $0.key == key } }
}
