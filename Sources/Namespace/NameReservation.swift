/// Reserves names of a folder that are used outside this tree. Called within a change of the tree; it must be quick,
/// must not wait and must not change names.
public struct NameReservation: Sendable {
    let holds: @Sendable (_ name: EntryName, _ folder: NodeID) -> Bool

    public init(holds: @escaping @Sendable (_ name: EntryName, _ folder: NodeID) -> Bool) {
        self.holds = holds
    }
}
