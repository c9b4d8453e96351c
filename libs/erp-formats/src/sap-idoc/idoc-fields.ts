import type { FieldRules } from '../xml/check-fields.js';

const OPERATION = {
  MSGFN: 'text',
  ARBPL: 'text',
  ARBID: 'text',
  WERKS: 'text',
  CY_SEQNRV: 'text',
  FSAVD: 'text',
  FSAVZ: 'text',
  SSAVD: 'text',
  SSAVZ: 'text',
} as const;
const STATUS = { STAT: 'text' } as const;

/** Fields that are read. A segment has each of them once; it is segments that repeat. */
export const IDOC_FIELDS: FieldRules = {
  IDOC: { EDI_DC40: 'element', E1AFKOL: 'elements' },
  EDI_DC40: {
    SERIAL: 'text',
    CREDAT: 'text',
    CRETIM: 'text',
    DOCNUM: 'text',
    SNDPRN: 'text',
  },
  E1AFKOL: {
    AUFNR: 'text',
    WERKS: 'text',
    MSGFN: 'text',
    E1JSTKL: 'elements',
    E1AFFLL: 'elements',
  },
  E1JSTKL: STATUS,
  E1AFFLL: { PLNFL: 'text', E1AFVOL: 'elements' },
  E1AFVOL: { ...OPERATION, VORNR: 'text', E1JSTVL: 'elements', E1AFUVL: 'elements' },
  E1JSTVL: STATUS,
  E1AFUVL: { ...OPERATION, UVORN: 'text', E1JSTUL: 'elements' },
  E1JSTUL: STATUS,
};
