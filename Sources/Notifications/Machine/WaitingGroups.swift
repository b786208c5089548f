import ChatCore

/// Waiting groups in order of arrival, one for each chat and subject.
struct WaitingGroups: Sendable {
    typealias Group = NotificationGroup

    private(set) var groups: [Group] = []
    static let limit = 256

    /// Adds an event to its group.
    mutating func add(_ key: Group.Key, at now: Group.Instant, _ change: (inout Group) -> Void) {
        if let index = index(of: key) {
            change(&groups[index])
        } else {
            var group = Group(key, since: now)
            change(&group)
            if groups.count < Self.limit { groups.append(group) } else { merge(group) }
        }
    }

    /// Returns true if the arrival of an item waits.
    func holdsArrival(of item: ItemID) -> Bool {
        groups.contains { group in
            group.key.subject == .arrival && group.items.contains { $0.entry == .item(item) }
        }
    }

    /// Adds a group again.
    mutating func add(_ group: Group) {
        if let index = index(of: group.key) { groups[index].add(group) } else { groups.append(group) }
    }

    /// Above the limit, merges arrivals into one group and drops other events.
    private mutating func merge(_ group: Group) {
        guard group.key.subject.isArrival else { return }
        var all = Group(Group.Key(chat: nil, subject: group.key.subject), since: group.since)
        all.add(group)
        add(all)
    }

    /// Removes an entry from the groups of these subjects.
    mutating func remove(_ entry: NotifiedEntry, of subjects: [NotificationSubject]) {
        for index in groups.indices.reversed() where subjects.contains(groups[index].key.subject) {
            guard groups[index].key.refusal == nil else { continue }
            if !groups[index].remove(entry) { groups.remove(at: index) }
        }
    }

    /// Removes answered requests.
    mutating func removeRequests(except waiting: Set<Int64>) {
        for group in groups where [.request, .invitation].contains(group.key.subject) {
            for case .request(let number) in group.files.map(\.entry) where !waiting.contains(number) {
                remove(.request(number), of: [.request, .invitation])
            }
        }
    }

    /// Returns the keys of a chat's arrivals of these subjects.
    func arrivals(_ subjects: [NotificationSubject], in chat: ChatReference) -> Set<Group.Key> {
        Set(
            groups.map(\.key).filter {
                $0.chat == chat && $0.subject.isArrival && subjects.contains($0.subject)
            })
    }

    /// Removes and returns the groups with these keys.
    mutating func take(_ keys: Set<Group.Key>) -> [Group] {
        defer { groups.removeAll { keys.contains($0.key) } }
        return groups.filter { keys.contains($0.key) }
    }

    private func index(of key: Group.Key) -> Int? { groups.firstIndex { $0.key == key } }
}
