import { resources } from '../resources.ts'
import { storedByOrigin } from '../transfer/by-origin.ts'
import { Origins } from '../transfer/store.ts'
import { checked, idIn, type Transferable, timesOf, Unusable } from '../transfer/transferable.ts'
import { storeBookmark } from './schema.ts'
import { bookmarksAfter, findBookmark, insertBookmark } from './store.ts'

const { singular } = resources.bookmarks
const origins = new Origins(singular)

export const bookmarkTransfer: Transferable = {
  plural: 'bookmarks',
  singular,
  after: bookmarksAfter,
  read: (members) => {
    const id = idIn(members)
    if (id === undefined) throw new Unusable('id: A bookmark needs the id that it has at its source.')
    const { title, note, ...refers } = checked(storeBookmark.read(members))
    const times = timesOf(members)
    return (tx, target) => {
      const domain_id = target.idOf('domains', refers.domain_id)
      const space_id = refers.space_id === null ? null : target.idOf('spaces', refers.space_id)
      if (domain_id === undefined || space_id === undefined) throw new Unusable('The domain or the space is missing.')
      return storedByOrigin(origins, {
        id,
        times,
        find: async (db, account, own) => (await findBookmark(db, account, own))?.record,
        isSame: (there) => there.title === title && there.note === note,
        insert: async (to, account) =>
          (await insertBookmark(to, account, { title, note, domain_id, space_id }, times)).record,
      })(tx, target)
    }
  },
}
