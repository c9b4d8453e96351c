/** The size of an IDoc LOIPRO05 of SAP S/4HANA with a few operations; the bridge does not need most of it. */
export const IDOC_BYTES = 41_000;

const MOST_ORDERS = 1_000_000;
const SERIAL = 20_240_318_091_502_000_000n;
const CHARACTERISTIC = [
  '<E1VCCHR SEGMENT="1"><ATNAM>HEAD_KIT_COVER</ATNAM><ATWRT>BLUE</ATWRT><ATFOR>CHAR</ATFOR>',
  '<E1VCCHT SEGMENT="1"><LAISO>DE</LAISO><ATBEZ>Farbe der Abdeckung</ATBEZ></E1VCCHT>',
  '<E1VCCHT SEGMENT="1"><LAISO>EN</LAISO><ATBEZ>Colour of the cover</ATBEZ></E1VCCHT>',
  '</E1VCCHR>\n',
].join('\n      ');

/**
 * Order `number`, from 1, as an IDoc. A machine's newest order comes first on its list, as with orders in the bridge's
 * own format.
 */
export function idocOf(machineId, number) {
  const sequence = String(MOST_ORDERS - number).padStart(14, '0');
  const head = `<?xml version="1.0" encoding="UTF-8"?>
<LOIPRO05 xmlns="urn:sap-com:document:sap:idoc:soap:messages">
  <IDOC BEGIN="1">
    <EDI_DC40 SEGMENT="1">
      <MESTYP>LOIPRO</MESTYP><SNDPRN>S4HCLNT100</SNDPRN><SERIAL>${SERIAL + BigInt(number)}</SERIAL>
    </EDI_DC40>
    <E1AFKOL SEGMENT="1">
      <AUFNR>${String(number).padStart(12, '0')}</AUFNR>
      <WERKS>1000</WERKS>
      `;
  const tail = `<E1JSTKL SEGMENT="1"><STAT>I0002</STAT></E1JSTKL>
      <E1AFFLL SEGMENT="1">
        <PLNFL>0</PLNFL>
        <E1AFVOL SEGMENT="1">
          <VORNR>0010</VORNR><ARBPL>${machineId}</ARBPL><CY_SEQNRV>${sequence}</CY_SEQNRV>
          <E1JSTVL SEGMENT="1"><STAT>I0002</STAT></E1JSTVL>
        </E1AFVOL>
      </E1AFFLL>
    </E1AFKOL>
  </IDOC>
</LOIPRO05>
`;
  const room = Math.floor((IDOC_BYTES - head.length - tail.length) / CHARACTERISTIC.length);
  return `${head}${CHARACTERISTIC.repeat(room)}${tail}`;
}
