/// A transition of a draft whose mutex is held, not performed yet.
struct PreparedTransition: Sendable {
    let draft: Draft
    let machine: DraftMachine
    let transition: DraftTransition

    var reply: DraftReply { transition.reply }
}
