'use client';

import { useEffect, useState } from 'react';
import { checkKernels } from '../../check.js';

export default function Check() {
  const [said, setSaid] = useState('');
  useEffect(() => {
    checkKernels().then(JSON.stringify, String).then(setSaid);
  }, []);
  return <output>{said}</output>;
}
