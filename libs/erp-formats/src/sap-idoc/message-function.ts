/** MSGFN of a segment whose object was deleted in the ERP. */
export const DELETED = '003';
